package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// callbacksOfADay are those of a system with a hundred callbacks a second. Each takes a message and publishes one.
	callbacksOfADay = 24 * 60 * 60 * 100
	// days are as many as let a recorder settle in their first fifth: its memory does for some minutes.
	days = 4
	// nodesASecond come and go, so few that a busy machine keeps up: how many entities a recorder knows follows from it.
	nodesASecond = 25
	// messagesAround are those that busy publishes outside of callbacks: they go round from then on.
	messagesAround = 8
	// flat is by which part the mean of what a recorder uses may grow from the first half of the time to the second one.
	flat = 0.05
)

// TestEndlessRecording records as much as happens on four days, as fast as the programs can, while nodes with entities
// of all kinds come and go. The rows and the losses that are counted are what happened, and nothing that the recorder
// uses grows: memory, the kernel's memory, descriptors, what is kept and how large its segments are.
func TestEndlessRecording(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	callbacks := often(300_000, days*callbacksOfADay)
	kept := int64(often(2<<20, 16<<20))
	for name, configuration := range map[string]session.Configuration{
		"in memory": {RingBytes: kept},
		"on disk":   {KeepBytes: kept},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			day := startDay(t, configuration, callbacks)
			uses := day.watch()
			day.requireAllCounted(callbacks)
			t.Logf("in %v", time.Since(began).Round(time.Second))
			requireFlat(t, uses)
		})
	}
}

// day is a recorder of two programs: one executes callbacks as fast as it can, nodes of the other one come and go.
type day struct {
	*recorder
	truth, counts string        // files: what the second program did, what the recorder has counted
	ended         chan struct{} // the recorder has
}

func startDay(t *testing.T, configuration session.Configuration, callbacks int) *day {
	t.Helper()
	folder := standin.Directory(t, oneLayout.distro, false)
	t.Setenv("LD_LIBRARY_PATH", folder) // whose libraries are probed before they are mapped
	nodes, truth := standin.Command(t, standin.Config{
		Distro: oneLayout.distro, RMW: oneLayout.rmw, Arguments: strings.Fields(fmt.Sprintf("--rate 100 --recreate-rate %d", nodesASecond)),
	})
	t.Setenv("RMW_IMPLEMENTATION", oneLayout.rmw)
	d := &day{truth: truth, counts: filepath.Join(t.TempDir(), "counts"), ended: make(chan struct{})}
	t.Setenv(countsVariable, d.counts)
	const script = `meter=$0 callbacks=$1 busy=$2; shift 2
"$@" & nodes=$!
"$busy" "$meter" subscription "$callbacks"
kill $nodes; wait $nodes`
	configuration.Command = append([]string{
		"sh", "-c", script, filepath.Join(t.TempDir(), "meter"), strconv.Itoa(callbacks), filepath.Join(folder, "busy"),
	}, nodes.Args...)
	d.recorder = startRecorder(t, configuration)
	go func() {
		_ = d.command.Wait() // runRecorder ends with 1 in any case
		close(d.ended)
	}()
	return d
}

// use is what a recorder uses at an instant.
type use struct {
	memory   float64 // bytes in RAM
	living   float64 // bytes of Go's heap that were no garbage when they were last looked for; NaN where that is not told
	kernel   float64 // bytes of BPF maps
	open     float64 // descriptors
	kept     float64 // bytes of the dataset's rows, those of entities included, on disk or in memory
	segments float64 // mean size of closed segments of callbacks, in bytes; NaN where there is none
}

// watch looks again and again at what the recorder uses, until it has ended.
func (d *day) watch() (uses []use) {
	d.t.Helper()
	for tick := time.NewTicker(time.Duration(often(100, 1000)) * time.Millisecond); ; {
		select {
		case <-d.ended:
			tick.Stop()
			return uses
		case <-tick.C:
			u, err := d.use()
			switch {
			case err == nil:
				uses = append(uses, u)
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoMemory): // which it has when it ends
				d.t.Fatal(err)
			}
		}
	}
}

func (d *day) use() (u use, err error) {
	process := fmt.Sprintf("/proc/%d", d.command.Process.Pid)
	memory, err := memoryOf(d.command.Process.Pid)
	if err != nil {
		return u, err
	}
	u.memory, u.living = float64(memory), d.living()
	descriptors, err := os.ReadDir(filepath.Join(process, "fd"))
	if err != nil {
		return u, err
	}
	u.open = float64(len(descriptors))
	dir := d.dir
	for _, descriptor := range descriptors {
		u.kernel += mapBytes(filepath.Join(process, "fdinfo", descriptor.Name()))
		// A file system in memory is the root of a mount of its own.
		if path := filepath.Join(process, "fd", descriptor.Name()); isMemory(path) {
			dir = path
		}
	}
	u.kept, u.segments, err = sizes(dir)
	return u, err
}

// living is what the recorder has told of its heap.
func (d *day) living() float64 {
	counted, err := d.counted()
	if err != nil { // not yet, or it is written anew
		return math.NaN()
	}
	return float64(counted.Living)
}

func (d *day) counted() (counted counts, err error) {
	text, err := os.ReadFile(d.counts)
	if err == nil {
		err = json.Unmarshal(text, &counted)
	}
	return counted, err
}

// mapBytes is how much memory the map of a descriptor takes; 0 if it is of something else, or closed.
func mapBytes(info string) (bytes float64) {
	text, err := os.ReadFile(info)
	if err != nil || !strings.Contains(string(text), "map_type:") {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "memlock:"); ok {
			bytes, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return bytes
}

func isMemory(path string) bool {
	var system unix.Statfs_t
	link, err := os.Readlink(path)
	return err == nil && link == "/" && unix.Statfs(path, &system) == nil && system.Type == unix.TMPFS_MAGIC
}

// sizes are those of a dataset's rows and, in the mean, of its closed segments of callbacks.
func sizes(dir string) (all, segment float64, err error) {
	segments, ofSegments := 0.0, 0.0
	err = filepath.WalkDir(dir+"/", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreMissing(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		size := float64(info.Size())
		all += size
		if !strings.HasPrefix(entry.Name(), ".") && filepath.Base(filepath.Dir(path)) == trace.TableCallback {
			segments++
			ofSegments += size
		}
		return nil
	})
	return all, ofSegments / segments, err
}

// ignoreMissing is for segments, which go meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// errNoMemory is what a process tells that has ended and was not waited for.
var errNoMemory = errors.New("it has no memory")

// memoryOf is how many bytes of a process are in RAM.
func memoryOf(pid int) (bytes int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kibibytes, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d: %w", pid, errNoMemory)
}

// requireFlat requires that the means of what was used do not grow from the first to the second half of the time.
func requireFlat(t *testing.T, uses []use) {
	t.Helper()
	const tenths = 10
	if len(uses) < tenths {
		t.Fatalf("it was looked at %d times", len(uses))
	}
	for i := range tenths {
		t.Logf("%d/10: %v", i+1, meanUse(uses[i*len(uses)/tenths:(i+1)*len(uses)/tenths]))
	}
	t.Logf("looked at %d times", len(uses))
	for _, g := range growths(uses) {
		t.Logf("%s: %+.2f %%", g.what, 100*g.by)
		if isSoak() && g.isTooMuch() { // the short form ends before anything has settled
			t.Errorf("%s: grown by %.2f %% from half to half, at most %.0f %% are flat", g.what, 100*g.by, 100*flat)
		}
	}
}

// growth is by which part the mean of something has grown from half to half.
type growth struct {
	what string
	by   float64
}

func (g growth) isTooMuch() bool { return !(g.by <= flat) }

// growths are those of all that is used. The first fifth of the time does not count: caches fill, and entities that
// ended are forgotten half a minute later.
func growths(uses []use) []growth {
	warm := uses[len(uses)/5:]
	first, second := meanUse(warm[:len(warm)/2]), meanUse(warm[len(warm)/2:])
	return []growth{
		{"memory", second.memory/first.memory - 1},
		{"what lives in it", second.living/first.living - 1},
		{"the kernel's memory", second.kernel/first.kernel - 1},
		{"descriptors", second.open/first.open - 1},
		{"what is kept", second.kept/first.kept - 1},
		{"segments", second.segments/first.segments - 1},
	}
}

// TestGrowthIsSeen has one thing after the other grow by 15 % from the beginning to the end, while it goes up and down
// all the time, and the others stay.
func TestGrowthIsSeen(t *testing.T) {
	of := func(i int, grows bool) float64 {
		value := 100 + 10*float64(i%3)
		if grows {
			value *= 1 + 0.15*float64(i)/100
		}
		return value
	}
	for leaks := -1; leaks < 6; leaks++ {
		uses := make([]use, 100)
		for i := range uses {
			uses[i] = use{
				of(i, leaks == 0), of(i, leaks == 1), of(i, leaks == 2), of(i, leaks == 3), of(i, leaks == 4), of(i, leaks == 5),
			}
		}
		uses[0].segments = math.NaN()
		for i, g := range growths(uses) {
			if g.isTooMuch() != (i == leaks) {
				t.Errorf("%d grows: %s by %v", leaks, g.what, g.by)
			}
		}
	}
	if all := growths(make([]use, 10)); !all[0].isTooMuch() {
		t.Error("what was not measured is flat")
	}
}

func (u use) String() string {
	const mebi = 1 << 20
	return fmt.Sprintf("%.1f MiB of memory, %.1f MiB living, %.1f MiB of maps, %.1f descriptors, %.1f MiB kept, segments of %.3f MiB",
		u.memory/mebi, u.living/mebi, u.kernel/mebi, u.open, u.kept/mebi, u.segments/mebi)
}

// meanUse is the mean of each value, where there is one.
func meanUse(uses []use) use {
	of := func(value func(use) float64) float64 {
		sum, count := 0.0, 0.0
		for _, u := range uses {
			if v := value(u); !math.IsNaN(v) {
				sum += v
				count++
			}
		}
		return sum / count
	}
	return use{
		memory: of(func(u use) float64 { return u.memory }), living: of(func(u use) float64 { return u.living }),
		kernel: of(func(u use) float64 { return u.kernel }), open: of(func(u use) float64 { return u.open }),
		kept: of(func(u use) float64 { return u.kept }), segments: of(func(u use) float64 { return u.segments }),
	}
}

// requireAllCounted requires that rows and losses together are what the two programs did.
func (d *day) requireAllCounted(callbacks int) {
	d.t.Helper()
	counted, err := d.counted()
	if err != nil {
		d.t.Fatal(err)
	}
	truth, err := groundtruth.ParseFile(d.truth)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, kind := range []struct {
		table    string
		loss     trace.LossKind
		happened int
	}{
		{trace.TableCallback, trace.LostCallback, callbacks + len(truth.Callbacks)},
		{trace.TablePublish, trace.LostPublish, callbacks + messagesAround + len(truth.Publishes)},
	} {
		rows, lost := counted.Rows[kind.table], counted.Lost[kind.loss]
		if rows+lost != uint64(kind.happened) {
			d.t.Errorf("%s: %d rows and %d lost are not %d", kind.table, rows, lost, kind.happened)
		}
		d.t.Logf("%s: %d rows, %d lost", kind.table, rows, lost)
	}
	d.t.Logf("%d nodes came and went; lost in all: %v", len(truth.Nodes), counted.Lost)
}

// countsVariable is the file into which a recorder in a process of its own writes what it has counted.
const countsVariable = "RECORDING_TEST_COUNTS"

// counts is what a recorder has counted.
type counts struct {
	Rows map[string]uint64         // by table, with those that it has not kept
	Lost map[trace.LossKind]uint64 // by kind
	// Living is how many bytes of the heap were no garbage when the recorder has last looked for it.
	Living uint64
}

// countInto has a recorder write what it has counted into a file whenever it tells its status.
func countInto(file string, observer *session.Observer) {
	var mutex sync.Mutex
	lost := map[trace.LossKind]uint64{}
	observer.Rows = append(observer.Rows, func(b *trace.Batch) {
		mutex.Lock()
		defer mutex.Unlock()
		for _, loss := range b.Losses {
			lost[loss.Kind] += loss.Count
		}
	})
	observer.Status = func(s session.Status) {
		mutex.Lock()
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		now := counts{s.Taken, maps.Clone(lost), heap[0].Value.Uint64()}
		mutex.Unlock()
		text, err := json.Marshal(now)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
