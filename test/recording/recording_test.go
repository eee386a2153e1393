package recording

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launch.Argument {
		if err := launch.Become(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(127)
	}
	if os.Getenv(mapperVariable) != "" {
		runMapper(os.Args[2:])
		os.Exit(1)
	}
	if os.Getenv(sandboxVariable) != "" {
		fmt.Fprintln(os.Stderr, runSandboxed(os.Args[1:]))
		os.Exit(1)
	}
	if os.Getenv(recorderVariable) != "" {
		fmt.Fprintln(os.Stderr, runRecorder())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("recording needs root: run the tests with sudo")
	}
}

// monotonic returns the ground truth's clock.
func monotonic() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return uint64(now.Nano())
}

// recording is a running session.
type recording struct {
	t        *testing.T
	dir      string
	cancel   context.CancelFunc
	done     chan error
	status   chan session.Status
	handle   *session.Handle // from when the gate is open
	mu       sync.Mutex
	messages []string
	// began and ended are around session.Run; opened and closing are in between, when the gate was open for certain. All
	// are on the ground truth's clock.
	began, opened, closing, ended uint64
}

// begin begins a recording without waiting for anything; opened is closed when its gate is open.
func begin(t *testing.T, configuration session.Configuration, changes ...func(*session.Options)) (r *recording, opened chan struct{}) {
	t.Helper()
	r = &recording{
		t: t, dir: filepath.Join(t.TempDir(), "recording"), done: make(chan error, 1), status: make(chan session.Status, 1),
	}
	if configuration.Output == "" {
		configuration.Output = r.dir
	}
	r.dir = configuration.Output
	opened = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	finished := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-finished // nothing may attach to what the next test starts
	})
	options := session.Options{Version: "test", Trusted: owners(t), Observer: session.Observer{
		Recording: func(h *session.Handle) {
			r.opened, r.handle = monotonic(), h
			close(opened)
		},
		Status:  r.keepStatus,
		Message: r.keepMessage,
	}}
	for _, change := range changes {
		change(&options)
	}
	r.began = monotonic()
	go func() {
		defer close(finished)
		r.done <- session.Run(ctx, configuration, options)
	}()
	return r, opened
}

// owners are the users whose files the tests record: whoever has checked out and built them.
func owners(t *testing.T) []uint32 {
	t.Helper()
	var users []uint32
	for _, path := range []string{"../..", "../../build/testdata"} {
		var stat unix.Stat_t
		if err := unix.Stat(path, &stat); err == nil {
			users = append(users, stat.Uid)
		}
	}
	return users
}

// keepStatus keeps the latest status.
func (r *recording) keepStatus(status session.Status) {
	select {
	case <-r.status:
	default:
	}
	r.status <- status
}

func (r *recording) keepMessage(text string) {
	r.t.Log("recorder:", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, text)
}

// said reports whether a message of the recorder contains all texts.
func (r *recording) said(texts ...string) bool { return r.timesSaid(texts...) > 0 }

// timesSaid counts the messages of the recorder that contain all texts.
func (r *recording) timesSaid(texts ...string) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, message := range r.messages {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(message, text) }) {
			count++
		}
	}
	return count
}

// waitForMessage waits until a message of the recorder contains all texts.
func (r *recording) waitForMessage(texts ...string) {
	r.t.Helper()
	r.waitForMessages(1, texts...)
}

// waitForMessages waits until so many messages of the recorder contain all texts.
func (r *recording) waitForMessages(count int, texts ...string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if r.timesSaid(texts...) >= count {
			return
		}
		if len(r.done) > 0 {
			r.t.Fatalf("the recording ended before the recorder said %q", texts)
		}
	}
	r.t.Fatalf("the recorder does not say %q", texts)
}

// atCosts has hits cost what is given.
func atCosts(costs *probes.Costs) func(*session.Options) {
	return func(o *session.Options) { o.Costs = costs }
}

// record begins a recording and waits until it is open.
func record(t *testing.T, configuration session.Configuration, changes ...func(*session.Options)) *recording {
	t.Helper()
	r, opened := begin(t, configuration, changes...)
	select {
	case <-opened:
	case err := <-r.done:
		t.Fatalf("the recording ended before it began: %v", err)
	case <-time.After(patience):
		t.Fatal("the recording does not begin")
	}
	return r
}

// waitForRows waits until a table has at least so many rows.
func (r *recording) waitForRows(table string, count uint64) {
	r.t.Helper()
	r.waitFor(fmt.Sprintf("%d rows in %s", count, table), func(s session.Status) bool { return s.Rows[table] >= count })
}

// waitForMoreRows waits until a table has so many rows more than now.
func (r *recording) waitForMoreRows(table string, count uint64) {
	r.t.Helper()
	now := uint64(0)
	r.waitFor("a status", func(s session.Status) bool {
		now = s.Rows[table]
		return true
	})
	r.waitForRows(table, now+count)
}

// waitFor waits for something that the status shows.
func (r *recording) waitFor(what string, reached func(session.Status) bool) {
	r.t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case status := <-r.status:
			if reached(status) {
				return
			}
		case err := <-r.done:
			r.done <- err
			r.t.Fatalf("the recording ended (%v) before it had %s", err, what)
		case <-timeout:
			r.t.Fatalf("the recording does not get %s", what)
		}
	}
}

// stop ends the recording as Ctrl-C does and reads it.
func (r *recording) stop() *oracle.Dataset {
	r.t.Helper()
	r.closing = monotonic()
	r.cancel()
	return r.wait()
}

// wait waits for the end of the recording and reads it.
func (r *recording) wait() *oracle.Dataset {
	r.t.Helper()
	if err := r.waitForEnd(); err != nil {
		r.t.Fatalf("recording: %v", err)
	}
	data := oracle.ReadDataset(r.t, r.dir)
	requireProcessRows(r.t, data)
	return data
}

// waitForEnd waits for the end of the recording and returns how it went.
func (r *recording) waitForEnd() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		r.ended = monotonic()
		if r.closing == 0 {
			r.closing = r.ended
		}
		return err
	case <-time.After(patience):
		r.t.Fatal("the recording does not end")
		return nil
	}
}

// span returns when a process was recorded that was there from the beginning to the end. Its first row shows that the
// recording had begun.
func (r *recording) span(data *oracle.Dataset, pid int) oracle.Span {
	s := oracle.Span{OpenFrom: r.began, OpenTo: r.opened, CloseFrom: r.closing, CloseTo: r.ended}
	if first, ok := data.FirstRow(pid); ok {
		s.OpenTo = min(s.OpenTo, first)
	}
	return s
}

// requireExact requires that the recording has exactly what happened in a process, and lost nothing. Names may be
// missing where the recorder said that it had no time to look for them, as on a slow emulated machine.
func (r *recording) requireExact(data *oracle.Dataset, truth *oracle.Truth, known oracle.Circumstances) *oracle.Comparison {
	r.t.Helper()
	known.Unnamed = known.Unnamed || r.said("was cut short")
	return oracle.RequireExact(r.t, data, truth, r.span(data, truth.Header.PID), known)
}
