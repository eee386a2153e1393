package session

import (
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The kernel may tell of a process's exit while the process is looked at once more: the look must not make it run on.
func TestDescribingAProcessAnewKeepsItsExit(t *testing.T) {
	p, err := target.NewFinder().Inspect(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	entry := newProcess(p)
	entry.row.RecordingStartTimestamp, entry.row.RecordingEndTimestamp = trace.Some(int64(5)), trace.Some(int64(7))
	entry.row.Exited = true
	p.RMW = "rmw_cyclonedds_cpp"
	entry.describeAnew()
	want := describe(p)
	want.RecordingStartTimestamp, want.RecordingEndTimestamp, want.Exited = trace.Some(int64(5)), trace.Some(int64(7)), true
	if entry.row != want {
		t.Errorf("got %+v, want %+v", entry.row, want)
	}
}
