package programs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launch.Argument {
		if err := launch.Become(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(127)
	}
	os.Exit(m.Run())
}

const (
	// recorded is how long a program is recorded after it has begun, which takes a second.
	recorded = 2 * time.Second
	// patience bounds every wait: it only ever ends a test that has failed.
	patience = 5 * time.Minute
)

// seeds returns the first seed and how many programs there are to be: CARET_BPF_PROGRAM_SEED and CARET_BPF_PROGRAMS.
func seeds(t *testing.T) (first, count uint64) {
	t.Helper()
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return value
	}
	return number("CARET_BPF_PROGRAM_SEED", 1), number("CARET_BPF_PROGRAMS", 4)
}

// TestROSRandomPrograms records random programs that have been running for a while, and from their first event, and
// compares what was recorded with what they say of themselves.
func TestROSRandomPrograms(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("recording needs root: run the tests with sudo")
	}
	if testing.Short() {
		t.Skip("compiling takes long")
	}
	first, count := seeds(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "caret-bpf", "programs")
	for _, distro := range []string{Humble, Jazzy} {
		t.Run(distro, func(t *testing.T) {
			prefix, err := Prefix(distro)
			if errors.Is(err, ErrNotInstalled) && os.Getenv("CARET_BPF_REQUIRE_ROS") == "" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			compiler, err := NewCompiler(t.Context(), prefix, filepath.Join(folder, distro))
			if err != nil {
				t.Fatal(err)
			}
			programs := compileAhead(t.Context(), compiler, distro, first, count)
			for seed := first; seed < first+count; seed++ {
				t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
					program := <-programs
					if program.err != nil {
						t.Fatal(program.err)
					}
					// Both middlewares have their turn.
					r := &run{program: program.path, prefix: prefix, rmw: "rmw_fastrtps_cpp"}
					if seed%2 == 0 {
						r.rmw = "rmw_cyclonedds_cpp"
					}
					t.Run("late", func(t *testing.T) { r.compare(t, r.recordLate) })
					t.Run("from_the_start", func(t *testing.T) { r.compare(t, r.recordFromTheStart) })
				})
			}
		})
	}
}

// compiled is a program that was compiled, or why not.
type compiled struct {
	path string
	err  error
}

// compileAhead compiles programs while others are recorded.
func compileAhead(ctx context.Context, compiler *Compiler, distro string, first, count uint64) <-chan compiled {
	programs := make(chan compiled)
	go func() {
		for seed := first; seed < first+count; seed++ {
			path, err := compiler.Compile(ctx, Generate(seed, distro))
			select {
			case programs <- compiled{path, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return programs
}

// run is a program in the environment that it needs.
type run struct{ program, prefix, rmw string }

// export puts what the program needs into the environment of the test.
func (r *run) export(t *testing.T, truth string) {
	for name, value := range map[string]string{
		"LD_LIBRARY_PATH": filepath.Join(r.prefix, "lib"), "AMENT_PREFIX_PATH": r.prefix, "RMW_IMPLEMENTATION": r.rmw,
		"ROS_DOMAIN_ID": fmt.Sprint(standin.Domain(t)), "ROS_LOCALHOST_ONLY": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
		"CARET_BPF_TRUTH": truth,
	} {
		t.Setenv(name, value)
	}
}

// compare records a program and demands that nothing is wrong, missing or unknown. What was recorded stays beside the
// program if it is.
func (r *run) compare(t *testing.T, record func(t *testing.T, dir string) Span) {
	mode := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
	dir := r.program + "-" + mode
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	truthFile, dataset := filepath.Join(dir, "truth"), filepath.Join(dir, "recording")
	r.export(t, truthFile)
	span := record(t, dataset)
	truth, err := ParseTruthFile(truthFile)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := ReadRecording(t.Context(), dataset, span)
	if err != nil {
		t.Fatal(err)
	}
	findings := Compare(truth, recording)
	t.Logf("%s: compared %v", r.rmw, findings.Compared)
	if findings.Compared["callbacks"] == 0 || findings.Compared["publishes"] == 0 {
		t.Error("nothing was compared")
	}
	report := func(kind string, texts []string) {
		const most = 15
		for _, text := range texts[:min(most, len(texts))] {
			t.Errorf("%s: %s", kind, text)
		}
		if len(texts) > most {
			t.Errorf("%d more are %s", len(texts)-most, kind)
		}
	}
	report("wrong", findings.Wrong)
	report("missing", findings.Missing)
	report("unknown", findings.Unknown)
	if t.Failed() {
		t.Logf("the source is %s.cpp, recording and truth are in %s (span %+v)", r.program, dir, span)
	} else if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// recordLate records a program that has been running for a while.
func (r *run) recordLate(t *testing.T, dir string) Span {
	return r.start(t, func(pid int) Span {
		return record(t, session.Configuration{PIDs: fmt.Sprint(pid), Output: dir}, sleep(recorded))
	})
}

// start starts the program, has it recorded when it has been running for a while, and ends it.
func (r *run) start(t *testing.T, recordIt func(pid int) Span) Span {
	t.Helper()
	command := exec.Command(r.program)
	var said strings.Builder
	command.Stderr = &said
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer overdue.Stop()
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		_ = command.Wait()
		t.Fatalf("the program says %q, %v, and:\n%s", line, err, said.String())
	}
	span := recordIt(command.Process.Pid)
	_ = command.Process.Signal(syscall.SIGINT)
	if err := command.Wait(); err != nil {
		t.Fatalf("the program: %v\n%s", err, said.String())
	}
	return span
}

// recordFromTheStart lets the recorder start the program.
func (r *run) recordFromTheStart(t *testing.T, dir string) Span {
	span := record(t, session.Configuration{Command: []string{r.program}, Output: dir}, sleep(recorded+2*time.Second))
	span.OpenFrom, span.OpenTo = 0, 0 // the program began when the recording was open
	return span
}

// messages are what the recorder has said.
type messages struct {
	mutex sync.Mutex
	texts []string
}

func (m *messages) add(text string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.texts = append(m.texts, text)
}

func (m *messages) contain(text string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.ContainsFunc(m.texts, func(message string) bool { return strings.Contains(message, text) })
}

// await waits until the recorder has said something that contains a text.
func (m *messages) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !m.contain(text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the recorder does not say %q", text)
		}
	}
}

func sleep(duration time.Duration) func(*messages) { return func(*messages) { time.Sleep(duration) } }

// record records as long as something is done when everything is attached.
func record(t *testing.T, configuration session.Configuration, during func(said *messages)) Span {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan uint64, 1)
	done := make(chan error, 1)
	var said messages
	span := Span{OpenFrom: monotonic()}
	go func() {
		done <- session.Run(ctx, configuration, session.Options{Version: "test", Observer: session.Observer{
			Recording: func(*session.Handle) { opened <- monotonic() },
			Status:    func(session.Status) {},
			Message: func(text string) {
				t.Log("recorder:", text)
				said.add(text)
			},
		}})
	}()
	select {
	case span.OpenTo = <-opened:
	case err := <-done:
		t.Fatalf("the recording ended before it began: %v", err)
	case <-time.After(patience):
		t.Fatal("the recording does not begin")
	}
	during(&said)
	span.CloseFrom = monotonic()
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("recording: %v", err)
	}
	span.CloseTo = monotonic()
	return span
}

// monotonic returns the clock of programs' truths.
func monotonic() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return uint64(now.Nano())
}
