package standin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
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

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// Readiness and end come within seconds; the limits are for machines that are busy with other things, or emulated.
const (
	readyTimeout = 5 * time.Minute
	exitTimeout  = 5 * time.Minute
)

// domains is how many DDS domains tests share out among themselves. Higher numbers need ports beyond the
// ephemeral range's start.
const domains = 100

// Domain returns a DDS domain that no other test uses until this one ends. Who holds it is known by an abstract socket:
// like the domain, it is one of the network namespace, whatever root directory a test has.
func Domain(tb testing.TB) int {
	tb.Helper()
	for domain := range domains {
		held, err := net.ListenPacket("unixgram", fmt.Sprintf("@caret-bpf-test-domain-%d", domain+1))
		if err != nil {
			continue
		}
		tb.Cleanup(func() { held.Close() })
		return domain + 1
	}
	tb.Fatal("no free DDS domain")
	return 0
}

// Config says which ros_node to run and how.
type Config struct {
	Distro    string // Humble or Jazzy
	RMW       string // FastDDS or CycloneDDS
	Stripped  bool   // programs and libraries without .symtab
	Directory string // of programs and libraries; "": the one that is built
	Domain    int    // from Domain; 0: one of its own
	Arguments []string
	// Environment is added to that of the test.
	Environment []string
	// By is a program with its arguments that becomes the process: the command line is added to them.
	By []string
	// NoGroundTruth lets it write no ground truth, which costs time and memory: Stop and Wait are not for such a process.
	NoGroundTruth bool
}

// Process is a running ros_node.
type Process struct {
	tb          testing.TB
	command     *exec.Cmd
	groundTruth string
	ready       chan struct{}
	exited      chan struct{}
	exitError   error

	mutex  sync.Mutex
	output strings.Builder
}

// Command returns the command line of a ros_node, not started, and the path of the ground truth it will
// write: for tests that let the recorder launch it. It runs until a signal comes unless the arguments
// say otherwise.
func Command(tb testing.TB, config Config) (command *exec.Cmd, groundTruth string) {
	tb.Helper()
	if config.Domain == 0 {
		config.Domain = Domain(tb)
	}
	groundTruth = filepath.Join(tb.TempDir(), "ground-truth")
	prefix := config.Directory
	if prefix == "" {
		prefix = Directory(tb, config.Distro, config.Stripped)
	}
	program := filepath.Join(prefix, "ros_node")
	arguments := []string{"--domain", strconv.Itoa(config.Domain)}
	if !config.NoGroundTruth {
		arguments = append(arguments, "--ground-truth", groundTruth)
	}
	words := slices.Concat(config.By, []string{program}, arguments, config.Arguments)
	command = exec.Command(words[0], words[1:]...)
	command.Env = append(os.Environ(), "RMW_IMPLEMENTATION="+config.RMW, "AMENT_PREFIX_PATH="+prefix)
	command.Env = append(command.Env, config.Environment...)
	return command, groundTruth
}

// Start starts a ros_node. It is killed at the end of the test if it still runs then.
func Start(tb testing.TB, config Config) *Process {
	tb.Helper()
	process := &Process{tb: tb, ready: make(chan struct{}), exited: make(chan struct{})}
	process.command, process.groundTruth = Command(tb, config)
	reader, writer := io.Pipe()
	process.command.Stdout = writer
	process.command.Stderr = writer
	if err := process.command.Start(); err != nil {
		tb.Fatal(err)
	}
	go process.read(reader)
	go func() {
		process.exitError = process.command.Wait()
		writer.Close()
		close(process.exited)
	}()
	tb.Cleanup(process.Kill)
	return process
}

// StartReady starts a ros_node and waits until it is ready.
func StartReady(tb testing.TB, config Config) *Process {
	tb.Helper()
	process := Start(tb, config)
	process.WaitReady()
	return process
}

func (p *Process) read(reader io.Reader) {
	isReady := false
	for scanner := bufio.NewScanner(reader); scanner.Scan(); {
		if scanner.Text() == "ready" && !isReady {
			isReady = true
			close(p.ready)
		}
		p.mutex.Lock()
		fmt.Fprintln(&p.output, scanner.Text())
		p.mutex.Unlock()
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// GroundTruthFile is where the process writes. A child's file has ".child" appended.
func (p *Process) GroundTruthFile() string { return p.groundTruth }

// Output returns what the process has printed so far.
func (p *Process) Output() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.output.String()
}

// WaitReady waits until all entities exist and are in the ground truth.
func (p *Process) WaitReady() {
	p.tb.Helper()
	select {
	case <-p.ready:
	case <-p.exited:
		p.tb.Fatalf("ros_node ended before it was ready: %v\n%s", p.exitError, p.Output())
	case <-time.After(readyTimeout):
		p.tb.Fatalf("ros_node did not become ready\n%s", p.Output())
	}
}

// Signal sends a signal, for example SIGUSR1 to load the component.
func (p *Process) Signal(signal syscall.Signal) {
	p.tb.Helper()
	err := p.command.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		<-p.exited
		p.tb.Fatalf("ros_node ended by itself: %v\n%s", p.exitError, p.Output())
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

// Stop ends the process with SIGINT and returns its ground truth. It fails the test if ros_node found
// anything wrong (corrupted messages; with --expect-all, lost ones).
func (p *Process) Stop() *groundtruth.Truth {
	p.tb.Helper()
	p.Signal(syscall.SIGINT)
	return p.Wait()
}

// Wait is Stop without the signal, for processes with a --duration.
func (p *Process) Wait() *groundtruth.Truth {
	p.tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(exitTimeout):
		p.tb.Fatalf("ros_node did not end\n%s", p.Output())
	}
	if p.exitError != nil {
		p.tb.Fatalf("ros_node: %v\n%s", p.exitError, p.Output())
	}
	return p.parse(p.groundTruth)
}

// Child returns the ground truth of the child after Stop or Wait, for --fork and --spawn-after.
func (p *Process) Child() *groundtruth.Truth {
	p.tb.Helper()
	return p.parse(p.groundTruth + ".child")
}

func (p *Process) parse(path string) *groundtruth.Truth {
	p.tb.Helper()
	truth, err := groundtruth.ParseFile(path)
	if err != nil {
		p.tb.Fatal(err)
	}
	return truth
}

// Die sends a signal of which the process dies, and returns when it has. What Kill says of its ground truth holds here,
// too.
func (p *Process) Die(signal syscall.Signal) {
	p.tb.Helper()
	p.Signal(signal)
	select {
	case <-p.exited:
	case <-time.After(exitTimeout):
		p.tb.Fatalf("ros_node did not die\n%s", p.Output())
	}
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != signal {
		p.tb.Fatalf("ros_node did not die of signal %d (%v): %v\n%s", signal, signal, p.exitError, p.Output())
	}
}

// Kill ends the process with SIGKILL if it runs. With --ground-truth-sync, its ground truth up to then can
// be read from GroundTruthFile.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}
