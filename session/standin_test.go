package session_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// layout is a kind of process to record: whose libraries it looks like, and the middleware it uses.
type layout struct{ distro, rmw string }

func (l layout) String() string { return l.distro + "_" + l.rmw }

func layouts() []layout {
	return []layout{
		{"humble", "rmw_fastrtps_cpp"}, {"humble", "rmw_cyclonedds_cpp"},
		{"jazzy", "rmw_fastrtps_cpp"}, {"jazzy", "rmw_cyclonedds_cpp"},
	}
}

// forEachLayout runs a test for every layout, or only for one of them with -short.
func forEachLayout(t *testing.T, test func(t *testing.T, l layout)) {
	for i, l := range layouts() {
		if testing.Short() && i != 2 {
			continue
		}
		t.Run(l.String(), func(t *testing.T) { test(t, l) })
	}
}

// patience bounds every wait: it only ever ends a test that has failed.
const patience = 3 * time.Minute

// nextDomain is the DDS domain of the next group of stand-ins. They talk on loopback only; groups that share a domain with
// those of another test program still have topics of their own.
var nextDomain atomic.Int64

// group are stand-ins that hear each other.
type group struct {
	t      *testing.T
	layout layout
	folder string
	flags  []string
	count  int
}

func newGroup(t *testing.T, l layout) *group {
	t.Helper()
	domain := (int64(os.Getpid())*7 + nextDomain.Add(1)) % 100
	return &group{
		t: t, layout: l, folder: t.TempDir(),
		flags: []string{"--domain", strconv.FormatInt(domain, 10), "--prefix", fmt.Sprintf("/p%d_%d", os.Getpid(), nextDomain.Load())},
	}
}

// standin is a running stand-in.
type standin struct {
	t       *testing.T
	command *exec.Cmd
	pid     int
	truth   string // path of its ground truth
	output  *bufio.Reader
	done    chan struct{}
	err     error // when done
}

// program returns the path of the stand-in.
func (g *group) program() string {
	g.t.Helper()
	return filepath.Join(standinFolder(g.t, g.layout.distro), "ros_node")
}

// arguments returns the command line of a stand-in that writes its ground truth to the returned path.
func (g *group) arguments(flags ...string) (arguments []string, truth string) {
	g.count++
	truth = filepath.Join(g.folder, fmt.Sprintf("truth%d", g.count))
	arguments = append([]string{g.program()}, g.flags...)
	return append(append(arguments, "--ground-truth", truth), flags...), truth
}

// start starts a stand-in.
func (g *group) start(flags ...string) *standin {
	g.t.Helper()
	arguments, truth := g.arguments(flags...)
	s := &standin{t: g.t, command: exec.Command(arguments[0], arguments[1:]...), truth: truth, done: make(chan struct{})}
	s.command.Env = append(os.Environ(), "RMW_IMPLEMENTATION="+g.layout.rmw)
	s.command.Stderr = os.Stderr
	output, err := s.command.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	s.output = bufio.NewReader(output)
	if err := s.command.Start(); err != nil {
		g.t.Fatal(err)
	}
	s.pid = s.command.Process.Pid
	g.t.Cleanup(func() {
		_ = s.command.Process.Kill()
		s.wait()
	})
	return s
}

// ready waits until all of the stand-in's entities exist.
func (s *standin) ready() *standin {
	s.t.Helper()
	line, err := s.output.ReadString('\n')
	if err != nil || line != "ready\n" {
		s.t.Fatalf("stand-in %d said %q: %v", s.pid, line, err)
	}
	go s.reap()
	return s
}

func (s *standin) reap() {
	_, _ = io.Copy(io.Discard, s.output)
	s.err = s.command.Wait()
	close(s.done)
}

// wait waits for the end of the stand-in.
func (s *standin) wait() {
	s.t.Helper()
	if s.command.ProcessState != nil {
		return
	}
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Errorf("stand-in %d does not end", s.pid)
	}
}

// stop ends the stand-in and returns its ground truth. It must not have noticed anything wrong.
func (s *standin) stop() *truth {
	s.t.Helper()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
	return s.end()
}

// end waits until the stand-in ends by itself and returns its ground truth.
func (s *standin) end() *truth {
	s.t.Helper()
	s.wait()
	if s.err != nil {
		s.t.Errorf("stand-in %d: %v", s.pid, s.err)
	}
	return s.read(s.truth)
}

func (s *standin) read(path string) *truth {
	s.t.Helper()
	truth, err := readTruth(path, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return truth
}

// standinFolder returns the folder of the built stand-in.
func standinFolder(t *testing.T, distro string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "build", "testdata", distro))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ros_node")); err != nil {
		t.Skipf("the stand-in is not built (make testdata): %v", err)
	}
	return folder
}
