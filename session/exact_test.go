package session_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
)

func TestRecordingIsExact(t *testing.T) {
	requireRoot(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		node := newGroup(t, l).start("--rate", "50", "--expect-all").ready()
		r := record(t, session.Configuration{PIDs: strconv.Itoa(node.pid)})
		time.Sleep(time.Second)
		data := r.stop()
		r.requireExact(data, node.stop())
	})
}
