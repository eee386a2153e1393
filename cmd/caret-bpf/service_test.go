package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// listenAsManager is systemd's side; told returns what it was told since, for which it waits if it is that much.
func listenAsManager(t *testing.T) (told func(messages int) []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func(messages int) (all []string) {
		message := make([]byte, 4096)
		for {
			wait := time.Minute
			if len(all) >= messages {
				wait = 50 * time.Millisecond // time for one too many
			}
			if err := socket.SetReadDeadline(time.Now().Add(wait)); err != nil {
				t.Fatal(err)
			}
			n, err := socket.Read(message)
			if err != nil {
				return all
			}
			name, value, _ := strings.Cut(string(message[:n]), "=")
			if name == "STATUS" && !strings.Contains(value, "lost") {
				t.Errorf("the status does not tell of losses: %s", value)
			}
			all = append(all, name)
		}
	}
}

func TestServiceManager(t *testing.T) {
	told := listenAsManager(t)
	m := newServiceManager(os.Getenv)
	defer m.end()
	expect := func(when string, want ...string) {
		t.Helper()
		if got := told(len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: it was told %v, want %v", when, got, want)
		}
	}
	at := func(state trace.State, reads uint64) { m.status(session.Status{State: state, Reads: reads}) }
	expect("before")
	m.ready()
	at(trace.StateArmed, 1)
	at(trace.StateArmed, 2)
	m.ready()
	expect("armed", "READY", "STATUS", "WATCHDOG", "STATUS", "WATCHDOG")
	at(trace.StateRecording, 10)
	at(trace.StateRecording, 20)
	expect("the reader goes on", "STATUS", "WATCHDOG", "STATUS", "WATCHDOG")
	at(trace.StateRecording, 20)
	expect("the reader hangs", "STATUS")
	at(trace.StateFlushing, 20)
	at(trace.StateStopped, 20)
	expect("the end", "STOPPING")
}

// A manager that takes nothing holds nobody up, and is told what there is room for.
func TestServiceManagerHangs(t *testing.T) {
	m := &serviceManager{states: make(chan string, maxUntold), told: make(chan struct{})}
	for range 10 * maxUntold {
		m.status(session.Status{State: trace.StateRecording})
	}
	if len(m.states) != maxUntold {
		t.Errorf("%d states wait", len(m.states))
	}
	m.end()
}

func TestNoServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	for _, getenv := range []func(string) string{os.Getenv, func(string) string { return "" }} {
		m := newServiceManager(getenv)
		m.ready()
		m.status(session.Status{State: trace.StateRecording, Reads: 1})
		m.end()
	}
}
