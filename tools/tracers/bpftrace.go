package tracers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// ErrBpftrace says that bpftrace is not installed, or prints nothing.
var ErrBpftrace = errors.New("bpftrace")

// startPatience is how long bpftrace may take until it prints.
const startPatience = time.Minute

// Bpftrace is a running bpftrace that prints hits into a file.
type Bpftrace struct {
	command *exec.Cmd
	output  string
	said    bytes.Buffer
	ended   chan error
}

// Threads are those of a process whose hits are printed.
type Threads int

// FirstThread is what bpftrace 0.17 sees with its option -p. AllThreads are filtered in the script, which costs all
// processes that hit a site.
const (
	FirstThread Threads = iota
	AllThreads
)

// StartBpftrace has bpftrace print hits of sites in a process into a new file, and returns when callbacks are printed
// from their start to their end. It must be stopped.
func StartBpftrace(process int32, threads Threads, sites []probes.Site, output string) (*Bpftrace, error) {
	_ = os.Remove(output)
	arguments := []string{"-o", output, "-e"}
	if threads == FirstThread {
		arguments = append(arguments, script(sites, ""), "-p", fmt.Sprint(process))
	} else {
		arguments = append(arguments, script(sites, fmt.Sprintf("/pid == %d/", process)))
	}
	b := &Bpftrace{command: exec.Command("bpftrace", arguments...), output: output, ended: make(chan error, 1)}
	b.command.Stdout, b.command.Stderr = &b.said, &b.said
	b.command.Env = append(os.Environ(), "BPFTRACE_PERF_RB_PAGES=16384")
	if err := b.command.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBpftrace, err)
	}
	go func() { b.ended <- b.command.Wait() }()
	for deadline := time.Now().Add(startPatience); !b.prints(); time.Sleep(pollInterval) {
		select {
		case err := <-b.ended:
			return nil, fmt.Errorf("%w: %w: %s", ErrBpftrace, err, b.said.Bytes())
		default:
		}
		if time.Now().After(deadline) {
			_ = b.command.Process.Kill()
			<-b.ended
			return nil, fmt.Errorf("%w prints nothing: %s", ErrBpftrace, b.said.Bytes())
		}
	}
	return b, nil
}

// prints reports whether callbacks are printed from their start to their end: probes are attached one after the other.
func (b *Bpftrace) prints() bool {
	text, err := os.ReadFile(b.output)
	return err == nil && bytes.Contains(text, []byte(abi.EventCallbackStart.String())) && bytes.Contains(text, []byte(abi.EventCallbackEnd.String()))
}

// Stop ends bpftrace, and says how many events it has lost by its own words.
func (b *Bpftrace) Stop() (lost uint64, err error) {
	_ = b.command.Process.Signal(syscall.SIGINT)
	overdue := time.AfterFunc(stopPatience, func() { _ = b.command.Process.Kill() })
	defer overdue.Stop()
	<-b.ended // it also prints its maps, and fails when it was killed
	text, err := os.ReadFile(b.output)
	return lostEvents(append(text, b.said.Bytes()...)), err
}

var lostLine = regexp.MustCompile(`Lost (\d+) events`)

// lostEvents adds up what bpftrace says to have lost.
func lostEvents(text []byte) (lost uint64) {
	for _, match := range lostLine.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseUint(string(match[1]), 10, 64)
		if err == nil {
			lost += count
		}
	}
	return lost
}
