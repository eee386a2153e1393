package excerpt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/excerpt"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// base is when what the test makes up begins, second by second.
const base = int64(1_700_000_000_000_000_000)

func at(seconds int) int64 { return base + int64(seconds)*1_000_000_000 }

func callback(from, to int) trace.Callback {
	row := trace.Callback{CallbackStartTimestamp: trace.Some(at(from)), Status: trace.CallbackComplete, Callback: trace.Address(from)}
	row.PID = 7
	if to > 0 {
		row.CallbackEndTimestamp = trace.Some(at(to))
	}
	return row
}

// recorded makes a dataset of three segments of ten callbacks, one a second, and of nodes of which one has ended early
// and one begins late.
func recorded(t *testing.T) *trace.Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded")
	w, err := writer.Create(path, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session := trace.NewSession()
	session.Warnings = []string{"as it was"}
	if err := w.WriteSession(session); err != nil {
		t.Fatal(err)
	}
	node := func(entity, revision uint64, from, to int) trace.Node {
		row := trace.Node{NodeName: "n", InitTimestamp: trace.Some(at(from))}
		row.PID, row.NodeHandle = 7, trace.Address(entity)
		row.Stamp(entity, revision)
		if to > 0 {
			row.EndTimestamp = trace.Some(at(to))
		}
		return row
	}
	batch := &trace.Batch{
		// The first one is told of before its end, and then.
		Nodes:      []trace.Node{node(1, 1, 0, 0), node(1, 2, 0, 5), node(2, 1, 0, 0), node(3, 1, 25, 0)},
		Attributes: []trace.Attribute{{Key: "vehicle", Value: "bus"}},
		Losses: []trace.Loss{
			{Kind: "callback", Reason: "ring_full", Count: 3, FromTimestamp: at(1), ToTimestamp: at(2)},
			{Kind: "callback", Reason: "ring_full", Count: 4, FromTimestamp: at(12), ToTimestamp: at(13)},
			{Kind: "callback", Reason: trace.LossUnarmed, FromTimestamp: at(9), ToTimestamp: at(14), PID: 7},
		},
	}
	for second := range 30 {
		batch.Callbacks = append(batch.Callbacks, callback(second, second+1))
		if second%10 == 9 {
			if err := errors.Join(w.Write(batch), w.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return tracetest.Open(t, path)
}

func callbacksOf(t *testing.T, d *trace.Dataset) (starts []int) {
	t.Helper()
	err := trace.Scan(t.Context(), d, trace.TableCallback, func(rows []trace.Callback) error {
		for _, row := range rows {
			starts = append(starts, int((row.CallbackStartTimestamp.Value-base)/1_000_000_000))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return starts
}

func TestExcerpt(t *testing.T) {
	from := recorded(t)
	for name, test := range map[string]struct {
		first, last int
		callbacks   [2]int // the first and the last of them
		nodes       int
		lost        uint64
		unarmed     int
		entire      bool // its middle segment is copied as it is
	}{
		"within a segment":        {13, 15, [2]int{12, 15}, 1, 4, 1, false},
		"over a whole segment":    {8, 25, [2]int{7, 25}, 2, 4, 1, true},
		"all":                     {-5, 99, [2]int{0, 29}, 3, 7, 1, true},
		"nothing but what began":  {30, 40, [2]int{29, 29}, 2, 0, 0, false},
		"the first, with its end": {0, 1, [2]int{0, 1}, 2, 3, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "excerpt")
			span := trace.Span{First: at(test.first), Last: at(test.last)}
			session := *from.Session()
			session.Snapshot = &trace.Snapshot{Span: span, Reason: "a test"}
			rows, err := excerpt.Write(t.Context(), from, span, path, 0, writer.Options{}, func() trace.Session { return session })
			if err != nil {
				t.Fatal(err)
			}
			d := tracetest.Open(t, path)
			got := callbacksOf(t, d)
			want := test.callbacks[1] - test.callbacks[0] + 1
			if len(got) != want || got[0] != test.callbacks[0] || got[want-1] != test.callbacks[1] {
				t.Errorf("callbacks that began at %v, want %v", got, test.callbacks)
			}
			nodes, err := trace.Count(t.Context(), d, trace.TableNode)
			if err != nil || int(nodes) != test.nodes {
				t.Errorf("%d nodes, want %d, %v", nodes, test.nodes, err)
			}
			s := d.Session()
			if s.Rows[trace.TableCallback] != uint64(want) || rows[trace.TableCallback] != uint64(want) || s.Rows[trace.TableAttribute] != 1 {
				t.Errorf("session.json has %v, returned %v", s.Rows, rows)
			}
			lost := uint64(0)
			for _, loss := range s.Losses {
				lost += loss.Count
			}
			if lost != test.lost || s.Unarmed != test.unarmed {
				t.Errorf("%d lost, %d unarmed", lost, s.Unarmed)
			}
			if s.Ending != trace.EndingSnapshot || s.State != trace.StateStopped || s.Snapshot.Reason != "a test" || len(s.Warnings) != 1 {
				t.Errorf("session.json: %+v", s)
			}
		})
	}
}

// A damaged segment is no reason to leave half a copy.
func TestExcerptThatFailsLeavesNothing(t *testing.T) {
	from := recorded(t)
	segments, _, err := from.Segments(trace.TableCallback)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(segments[1].Path, 100); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "excerpt")
	_, err = excerpt.Write(t.Context(), from, trace.Span{First: at(0), Last: at(99)}, path, 0, writer.Options{}, func() trace.Session { return *from.Session() })
	if !errors.Is(err, trace.ErrTruncatedSegment) && !errors.Is(err, trace.ErrCorruptSegment) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A copy that would leave too little of the disk is not made.
func TestExcerptLeavesRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "excerpt")
	from := recorded(t)
	_, err := excerpt.Write(t.Context(), from, trace.Span{Last: at(99)}, path, 1<<60, writer.Options{}, func() trace.Session { return *from.Session() })
	if !errors.Is(err, writer.ErrDiskFull) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A callback that was open is there if it was within the time span.
func TestExcerptOfOpenCallbacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recorded")
	w, err := writer.Create(path, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	open := trace.OpenCallback{CallbackStartTimestamp: at(5), SeenTimestamp: at(15)}
	if err := errors.Join(w.WriteSession(trace.NewSession()), w.Write(&trace.Batch{OpenCallbacks: []trace.OpenCallback{open}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	for span, want := range map[trace.Span]uint64{
		{First: at(0), Last: at(4)}: 0, {First: at(8), Last: at(10)}: 1, {First: at(15), Last: at(20)}: 1, {First: at(16), Last: at(20)}: 0,
	} {
		rows, err := excerpt.Write(t.Context(), tracetest.Open(t, path), span, filepath.Join(t.TempDir(), "excerpt"), 0, writer.Options{}, func() trace.Session { return *trace.NewSession() })
		if err != nil {
			t.Fatal(err)
		}
		if rows[trace.TableOpenCallback] != want {
			t.Errorf("%+v: %v", span, rows)
		}
	}
}
