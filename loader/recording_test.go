package loader

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// way is a way to attach that tests go through.
type way struct {
	name     string
	options  Options
	features func(*Features)
}

// ways are all ways to attach. The last is that of a kernel whose uprobe_multi filter passes only one thread.
func ways() []way {
	return []way{
		{name: "uprobe_multi"},
		{name: "tracefs", options: Options{ForceTracefs: true}},
		{name: "filter_in_program", features: func(f *Features) { f.UprobeMultiThreads = ErrUnsupportedKernel }},
	}
}

// forEachWay runs a test for each way to attach that the kernel has.
func forEachWay(t *testing.T, test func(t *testing.T, w way)) {
	requireRoot(t)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			w.require(t)
			test(t, w)
		})
	}
}

// require skips what the kernel does not have.
func (w way) require(t testing.TB) {
	t.Helper()
	if w.options.ForceTracefs {
		requireTracefs(t)
		return
	}
	skipWithout(t, Probe().UprobeMulti, 6, 6)
}

// load returns a loader that goes this way.
func (w way) load(t testing.TB, options Options) *Loader {
	t.Helper()
	options.ForceTracefs = w.options.ForceTracefs
	features := Probe()
	if w.features != nil {
		w.features(&features)
	}
	l, err := newLoader(t.Context(), options, features)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// requireTracefs returns tracefs's mount point. It skips where the kernel's lock on trace events is not to be had,
// which is so for ever after a kernel bug struck a process that held it: whoever waits for it cannot even be killed.
func requireTracefs(t testing.TB) string {
	t.Helper()
	root, err := findTracefs()
	if err != nil {
		t.Fatal(err)
	}
	if err := traceEventsAnswer(); err != nil {
		t.Skip(err)
	}
	return root
}

var traceEventsAnswer = sync.OnceValue(func() error {
	root, err := findTracefs()
	if err != nil {
		return err
	}
	reader := exec.Command("cat", uprobeEvents(root))
	if err := reader.Start(); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- reader.Wait() }()
	select {
	case err := <-answered:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("the kernel's trace events do not answer; see dmesg and reboot")
	}
})

// skipWithout skips a test for want of a feature. On a kernel that should have the feature the test fails instead.
func skipWithout(t testing.TB, missing error, major, minor int) {
	t.Helper()
	if missing == nil {
		return
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var runningMajor, runningMinor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &runningMajor, &runningMinor); err != nil {
		t.Fatal(err)
	}
	if runningMajor > major || runningMajor == major && runningMinor >= minor {
		t.Fatalf("Linux %d.%d should have it: %v", runningMajor, runningMinor, missing)
	}
	t.Skip(missing)
}

// recording is a loader whose records are collected.
type recording struct {
	t       testing.TB
	loader  *Loader
	ended   chan error
	arrived [][]byte // belongs to the goroutine that reads
	// records are those that had arrived at the last drain.
	records [][]byte
}

// newRecording loads with raw records, so that every hit can be counted, and opens the gate.
func newRecording(t testing.TB, w way) *recording {
	t.Helper()
	options := w.options
	options.Raw = true
	l := w.load(t, options)
	if _, _, err := l.OpenGate(); err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, loader: l}
	r.read()
	return r
}

func (r *recording) read() {
	r.ended = make(chan error, 1)
	go func() {
		r.ended <- r.loader.Read(context.Background(), func(records [][]byte) error {
			for _, record := range records {
				r.arrived = append(r.arrived, slices.Clone(record))
			}
			return nil
		}, 10*time.Millisecond)
	}()
}

// drain waits until everything recorded so far is in r.records.
func (r *recording) drain() {
	r.t.Helper()
	if err := r.loader.Flush(); err != nil {
		r.t.Fatal(err)
	}
	r.wait()
	r.read()
}

// wait waits until Read has returned.
func (r *recording) wait() {
	r.t.Helper()
	if err := <-r.ended; err != nil {
		r.t.Fatal(err)
	}
	r.records = slices.Clone(r.arrived)
}

// attach attaches sites, all of which must succeed.
func (r *recording) attach(process int32, sites ...probes.Site) *Attachment {
	r.t.Helper()
	attachment, problems, err := r.loader.Attach(r.t.Context(), process, sites)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, problem := range problems {
		r.t.Error(problem)
	}
	return attachment
}

// hits counts the raw records of an event in a process, and empties nothing.
func (r *recording) hits(process int32, event abi.Event) int {
	r.t.Helper()
	r.drain()
	count := 0
	for _, record := range r.records {
		if abi.Kind(record[0]) == abi.KindRaw && record[1] == uint8(event) && int32(binary.NativeEndian.Uint32(record[8:])) == process {
			count++
		}
	}
	return count
}

// expectHits asserts how often both sites of callbacks were hit since the recording began.
func (r *recording) expectHits(process int32, want int) {
	r.t.Helper()
	for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd} {
		if got := r.hits(process, event); got != want {
			r.t.Errorf("%d hits of %v in PID %d, want %d", got, event, process, want)
		}
	}
}

func closeAttachment(t testing.TB, attachment *Attachment) {
	t.Helper()
	if err := attachment.Close(); err != nil {
		t.Fatal(err)
	}
}

func expectError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
