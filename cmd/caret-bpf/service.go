package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxUntold bounds what waits for a service manager that does not go on; the rest is dropped.
	maxUntold = 16
	// tellPatience is how long the end waits for it.
	tellPatience = time.Second
	// prolongedBy is how much longer something may take that goes on.
	prolongedBy = 30 * time.Second
)

// serviceManager tells systemd how a recording goes, if that has started it with Type=notify (sd_notify(3)). It has a
// goroutine of its own, so that a manager that hangs does not delay the recording.
type serviceManager struct {
	states chan string
	told   chan struct{} // closed when all is told
	last   session.Status
	isTold bool // that it is ready
}

func newServiceManager(getenv func(string) string) *serviceManager {
	m := &serviceManager{states: make(chan string, maxUntold), told: make(chan struct{})}
	heard := getenv("NOTIFY_SOCKET") != ""
	go func() {
		defer close(m.told)
		for state := range m.states {
			if heard {
				_, _ = daemon.SdNotify(false, state) // a recording goes on, whatever becomes of who has started it
			}
		}
	}()
	return m
}

// ready says that everything is attached: what happens from now on is recorded, or from the start for which it waits.
func (m *serviceManager) ready() {
	if !m.isTold {
		m.tell(daemon.SdNotifyReady)
	}
	m.isTold = true
}

// status tells how the recording goes. It is alive as long as its reader goes on: a recorder that only counts time
// loses all there is.
func (m *serviceManager) status(now session.Status) {
	switch now.State {
	case trace.StateArmed:
		m.tell(fmt.Sprintf("STATUS=waits for caret-bpf ctl start  %d processes  lost %s", now.Processes, report.Count(now.Lost)))
		m.alive(now)
	case trace.StateRecording:
		m.tell("STATUS=" + statusLine(m.last, now))
		m.alive(now)
	case trace.StateFlushing:
		m.tell(daemon.SdNotifyStopping)
	}
	m.last = now
}

func (m *serviceManager) alive(now session.Status) {
	if now.Reads != m.last.Reads {
		m.tell(daemon.SdNotifyWatchdog)
	}
}

// prolong asks for more time, while nothing is recorded.
func (m *serviceManager) prolong() {
	m.tell("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(prolongedBy.Microseconds(), 10))
	m.tell(daemon.SdNotifyWatchdog)
}

func (m *serviceManager) tell(state string) {
	select {
	case m.states <- state:
	default:
	}
}

// end waits a moment until all is told.
func (m *serviceManager) end() {
	close(m.states)
	select {
	case <-m.told:
	case <-time.After(tellPatience):
	}
}
