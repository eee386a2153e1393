package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// spanAsked is a recording that notes which time span is asked for.
type spanAsked struct {
	control.Recording
	began int64
	asked atomic.Pointer[control.SnapshotRequest]
}

func (r *spanAsked) Status() control.Status { return control.Status{BeganNs: r.began} }

func (r *spanAsked) Snapshot(_ context.Context, asked control.SnapshotRequest) (control.Snapshot, error) {
	r.asked.Store(&asked)
	return control.Snapshot{}, nil
}

func TestSpanOfASnapshot(t *testing.T) {
	const began = 1_700_000_000_000_000_000
	at := time.Date(2026, 11, 22, 0, 7, 36, 346e6, time.UTC).UnixNano()
	for name, test := range map[string]struct {
		arguments string
		began     int64
		code      int
		says      string
		want      control.SnapshotRequest
	}{
		"all":                  {want: control.SnapshotRequest{}},
		"the last seconds":     {arguments: "--last 30s", want: control.SnapshotRequest{LastNs: 30e9}},
		"since a time":         {arguments: "--begin 2026-11-22T00:07:36.346Z", want: control.SnapshotRequest{BeginNs: at}},
		"until a time":         {arguments: "--end 2026-11-22T01:07:36.346+01:00", want: control.SnapshotRequest{EndNs: at}},
		"since the begin":      {arguments: "--begin 90s --end 2m", began: began, want: control.SnapshotRequest{BeginNs: began + 90e9, EndNs: began + 120e9}},
		"from the begin on":    {arguments: "--begin 0s", began: began, want: control.SnapshotRequest{BeginNs: began}},
		"it has not begun":     {arguments: "--begin 1s", code: exitFailure, says: "does not say when it began"},
		"two ways":             {arguments: "--last 1s --end 2s", code: exitUsage, says: "not beside --begin and --end"},
		"negative":             {arguments: "--last=-1s", code: exitUsage, says: "--last"},
		"no time":              {arguments: "--begin monday", code: exitUsage, says: `--begin: "monday"`},
		"no time at the end":   {arguments: "--end 30", code: exitUsage, says: `--end: "30"`},
		"the end first":        {arguments: "--begin 2m --end 1m", began: began, code: exitUsage, says: "--end is before --begin"},
		"an end before all":    {arguments: "--end 1970-01-01T00:00:00Z", code: exitUsage, says: "--end is before --begin"},
		"an end before it was": {arguments: "--end=-1000000h", began: began, code: exitUsage, says: "--end is before --begin"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "recording.sock")
			listener, err := control.Listen(socket, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			recording := &spanAsked{began: test.began}
			server := control.Serve(listener, recording, func(error) bool { return false })
			defer func() { _ = server.Close() }()
			code, out, problems := runCommand(append([]string{"ctl", "snapshot", "--socket", socket}, strings.Fields(test.arguments)...)...)
			if code != test.code || !strings.Contains(out+problems, test.says) {
				t.Errorf("exit code %d, want %d; %q should be in:\n%s%s", code, test.code, test.says, out, problems)
			}
			asked := recording.asked.Load()
			if (asked == nil) != (test.code != exitSuccess) || asked != nil && *asked != test.want {
				t.Errorf("asked for %+v, want %+v", asked, test.want)
			}
		})
	}
}

// A snapshot of a time span has exactly the callbacks and publishes of which the span has a part, and none of the time
// before it, whether the span is told by times or since the begin.
func TestCtlSnapshotOfASpan(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{
		Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--rate 100 --threads 2"),
	})
	folder := t.TempDir()
	c := newCtl(t)
	dir := filepath.Join(folder, "rec")
	done := c.record("-p", strconv.Itoa(node.PID()), "-o", dir)
	status := c.waitFor("2.5 s", func(s control.Status) bool { return s.ElapsedNs > 2500e6 })
	format := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	first, last := status.BeganNs+500e6, status.BeganNs+1500e6
	spans := map[string][]string{
		"times":           {"--begin", format(first), "--end", format(last)},
		"since the begin": {"--begin", "500ms", "--end", "1.5s"},
	}
	for name, span := range spans {
		var made control.Snapshot
		c.ask(&made, append([]string{"snapshot", "-o", filepath.Join(folder, name)}, span...)...)
		if made.BeginNs != first || made.EndNs != last {
			t.Errorf("%s: the snapshot is of %d to %d, not of %d to %d", name, made.BeginNs, made.EndNs, first, last)
		}
	}
	c.ask(new(control.Status), "stop")
	done()
	node.Stop()
	whole := oracle.ReadDataset(t, dir)
	for name := range spans {
		part := oracle.ReadDataset(t, filepath.Join(folder, name))
		requireWithin(t, name+", callbacks", whole.Callbacks, part.Callbacks, first, last, func(row *trace.Callback) []trace.Optional[int64] {
			return []trace.Optional[int64]{row.RMWTakeTimestamp, row.DequeueTimestamp, row.CallbackStartTimestamp, row.CallbackEndTimestamp}
		})
		requireWithin(t, name+", publishes", whole.Publishes, part.Publishes, first, last, func(row *trace.Publish) []trace.Optional[int64] {
			return []trace.Optional[int64]{row.RclcppIntraPublishTimestamp, row.RclcppPublishTimestamp, row.RclPublishTimestamp, row.RMWPublishTimestamp}
		})
	}
}

// requireWithin requires that a part has exactly those rows of the whole that reach into a time span.
func requireWithin[T comparable](t *testing.T, what string, whole, part []T, first, last int64, times func(*T) []trace.Optional[int64]) {
	t.Helper()
	has := map[T]int{}
	for _, row := range part {
		has[row]++
	}
	within := 0
	for i := range whole {
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, at := range times(&whole[i]) {
			if at.Valid {
				from, to = min(from, at.Value), max(to, at.Value)
			}
		}
		if from > last || to < first {
			continue
		}
		within++
		if has[whole[i]] != 1 {
			t.Errorf("%s: %d times in the snapshot: %s", what, has[whole[i]], fmt.Sprintf("%+.200v", whole[i]))
		}
	}
	if within != len(part) || within == 0 || within == len(whole) {
		t.Errorf("%s: the snapshot has %d of %d, and %d lie in its time span", what, len(part), len(whole), within)
	}
}
