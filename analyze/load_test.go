package analyze_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ran is an execution of a node's callback with that number; 0 is a time that is not known.
type ran struct {
	tid, callback int32
	start, end    int64
	status        trace.CallbackStatus
}

// loadedRecording is of a node whose process was recorded from 1000 to 2000.
func loadedRecording(t *testing.T, executions []ran) *recording {
	t.Helper()
	s := newRecording(t)
	s.rows.Processes = append(s.rows.Processes, trace.Process{ProcessKey: s.key, RecordingStartTimestamp: trace.Some(int64(1000)), RecordingEndTimestamp: trace.Some(int64(2000))})
	n := s.node("/n")
	timers := []trace.Address{s.timer(n, 10), s.timer(n, 20), s.timer(n, 30)}
	known := func(at int64) trace.Optional[int64] { return trace.Optional[int64]{Value: at, Valid: at != 0} }
	for _, e := range executions {
		s.rows.Callbacks = append(s.rows.Callbacks, trace.Callback{
			ProcessKey: n.key, TID: e.tid, Callback: timers[e.callback], CallbackStartTimestamp: known(e.start), CallbackEndTimestamp: known(e.end),
			Status: e.status, Provenance: trace.FromTracepoint,
		})
	}
	return s
}

// loadsOf lists threads, and callbacks on them, as "thread callback: count+incomplete, busy of recorded, share, peak".
func loadsOf(t *testing.T, q *analyze.Query) (lines []string) {
	t.Helper()
	loads, err := q.Loads(t.Context(), 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads {
		lines = append(lines, fmt.Sprintf("%d %s: %d+%d, %d of %d, %.1f %.1f", l.TID, l.Callback, l.Count, l.Incomplete, l.Busy, l.Recorded, l.Share, l.Peak))
	}
	return lines
}

func TestLoads(t *testing.T) {
	const complete, unwound = trace.CallbackComplete, trace.CallbackUnwound
	for name, test := range map[string]struct {
		executions []ran
		filter     analyze.Filter
		want       []string
	}{
		"nothing": {},
		"two threads": {
			executions: []ran{{1, 0, 1000, 1100, complete}, {2, 1, 1200, 2000, complete}, {1, 0, 1500, 1650, complete}},
			want: []string{
				"2 : 1+0, 800 of 1000, 80.0 100.0", "2 /n/callback_1: 1+0, 800 of 1000, 80.0 100.0",
				"1 : 2+0, 250 of 1000, 25.0 33.3", "1 /n/callback_0: 2+0, 250 of 1000, 25.0 33.3",
			},
		},
		"one callback on two threads": {
			executions: []ran{{1, 0, 1000, 1100, complete}, {2, 0, 1050, 1250, complete}},
			want: []string{
				"2 : 1+0, 200 of 1000, 20.0 66.7", "2 /n/callback_0: 1+0, 200 of 1000, 20.0 66.7",
				"1 : 1+0, 100 of 1000, 10.0 33.3", "1 /n/callback_0: 1+0, 100 of 1000, 10.0 33.3",
			},
		},
		"nested twice, in the order of completion": {
			executions: []ran{{1, 2, 1220, 1250, complete}, {1, 1, 1200, 1300, complete}, {1, 1, 1350, 1360, complete}, {1, 0, 1100, 1500, complete}},
			want: []string{
				"1 : 4+0, 400 of 1000, 40.0 66.7", "1 /n/callback_0: 1+0, 290 of 1000, 29.0 63.3",
				"1 /n/callback_1: 2+0, 80 of 1000, 8.0 23.3", "1 /n/callback_2: 1+0, 30 of 1000, 3.0 10.0",
			},
		},
		"nested at the same moment": {
			executions: []ran{{1, 1, 1100, 1150, complete}, {1, 0, 1100, 1200, complete}, {1, 2, 1200, 1210, complete}},
			want: []string{
				"1 : 3+0, 110 of 1000, 11.0 36.7", "1 /n/callback_0: 1+0, 50 of 1000, 5.0 16.7",
				"1 /n/callback_1: 1+0, 50 of 1000, 5.0 16.7", "1 /n/callback_2: 1+0, 10 of 1000, 1.0 3.3",
			},
		},
		"running at the end": {
			executions: []ran{{1, 1, 1850, 1910, complete}, {1, 0, 1800, 0, trace.CallbackRecordingEnd}},
			want: []string{
				"1 : 2+0, 200 of 1000, 20.0 33.3", "1 /n/callback_0: 1+0, 140 of 1000, 14.0 16.7", "1 /n/callback_1: 1+0, 60 of 1000, 6.0 16.7",
			},
		},
		"running at the begin": {
			executions: []ran{{1, 0, 0, 1150, trace.CallbackStartMissing}, {1, 1, 1200, 1300, complete}},
			want: []string{
				"1 : 2+0, 250 of 1000, 25.0 83.3", "1 /n/callback_0: 1+0, 150 of 1000, 15.0 50.0", "1 /n/callback_1: 1+0, 100 of 1000, 10.0 33.3",
			},
		},
		"a start is missing later": {
			executions: []ran{{1, 1, 1100, 1120, complete}, {1, 0, 0, 1900, trace.CallbackStartMissing}},
			want: []string{
				"1 : 1+1, 20 of 1000, 2.0 6.7", "1 /n/callback_1: 1+0, 20 of 1000, 2.0 6.7", "1 /n/callback_0: 0+1, 0 of 1000, 0.0 0.0",
			},
		},
		"ends are missing": {
			executions: []ran{{1, 1, 1120, 1150, complete}, {1, 0, 1100, 0, unwound}, {1, 2, 1700, 0, trace.CallbackThreadExit}},
			want: []string{
				"1 : 1+2, 30 of 1000, 3.0 10.0", "1 /n/callback_1: 1+0, 30 of 1000, 3.0 10.0",
				"1 /n/callback_0: 0+1, 0 of 1000, 0.0 0.0", "1 /n/callback_2: 0+1, 0 of 1000, 0.0 0.0",
			},
		},
		"outside of the recorded time": {
			executions: []ran{{1, 0, 900, 1010, complete}, {1, 1, 800, 850, complete}, {1, 2, 1990, 2500, complete}, {2, 1, 2100, 2200, complete}},
			want: []string{
				"1 : 2+0, 20 of 1000, 2.0 3.3", "1 /n/callback_0: 1+0, 10 of 1000, 1.0 3.3", "1 /n/callback_2: 1+0, 10 of 1000, 1.0 0.0",
			},
		},
		"a part of the time": {
			executions: []ran{{1, 2, 0, 1020, trace.CallbackStartMissing}, {1, 0, 1050, 1150, complete}, {1, 2, 1160, 0, unwound}, {1, 1, 1270, 1290, complete}, {1, 0, 1250, 1400, complete}, {1, 2, 1410, 0, unwound}},
			filter:     analyze.Filter{From: trace.Some(int64(1100)), To: trace.Some(int64(1300))},
			want: []string{
				"1 : 3+1, 100 of 200, 50.0 50.0", "1 /n/callback_0: 2+0, 80 of 200, 40.0 40.0",
				"1 /n/callback_1: 1+0, 20 of 200, 10.0 10.0", "1 /n/callback_2: 0+1, 0 of 200, 0.0 0.0",
			},
		},
		"a part in one execution": {
			executions: []ran{{1, 0, 1050, 0, trace.CallbackRecordingEnd}},
			filter:     analyze.Filter{From: trace.Some(int64(1100)), To: trace.Some(int64(1300))},
			want:       []string{"1 : 1+0, 200 of 200, 100.0 100.0", "1 /n/callback_0: 1+0, 200 of 200, 100.0 100.0"},
		},
		"a part without the process": {
			executions: []ran{{1, 0, 1050, 1060, complete}},
			filter:     analyze.Filter{From: trace.Some(int64(2100))},
		},
		"a callback and its thread": {
			executions: []ran{{1, 1, 1200, 1300, complete}, {1, 0, 1100, 1500, complete}, {2, 0, 1000, 2000, complete}},
			filter:     analyze.Filter{Callbacks: patterns("/n/callback_1")},
			want:       []string{"1 : 2+0, 400 of 1000, 40.0 66.7", "1 /n/callback_1: 1+0, 100 of 1000, 10.0 33.3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantLines(t, loadsOf(t, loadedRecording(t, test.executions).query(test.filter)), test.want...)
		})
	}
}

// An execution is split exactly over the intervals that it spans; the last interval is shorter than the others.
func TestLoadsOfIntervals(t *testing.T) {
	executions := []ran{{1, 1, 1250, 1350, trace.CallbackComplete}, {1, 0, 1200, 1650, trace.CallbackComplete}, {2, 1, 1950, 0, trace.CallbackRecordingEnd}}
	for name, test := range map[string]struct {
		filter analyze.Filter
		want   []string
	}{
		"all": {want: []string{
			"1000 1 : 100 of 300, 33.3", "1000 1 /n/callback_0: 50 of 300, 16.7", "1000 1 /n/callback_1: 50 of 300, 16.7",
			"1300 1 : 300 of 300, 100.0", "1300 1 /n/callback_0: 250 of 300, 83.3", "1300 1 /n/callback_1: 50 of 300, 16.7",
			"1600 1 : 50 of 300, 16.7", "1600 1 /n/callback_0: 50 of 300, 16.7",
			"1900 2 : 50 of 100, 50.0", "1900 2 /n/callback_1: 50 of 100, 50.0",
		}},
		"one callback": {filter: analyze.Filter{Callbacks: patterns("/n/callback_1")}, want: []string{
			"1000 1 : 100 of 300, 33.3", "1000 1 /n/callback_1: 50 of 300, 16.7",
			"1300 1 : 300 of 300, 100.0", "1300 1 /n/callback_1: 50 of 300, 16.7",
			"1900 2 : 50 of 100, 50.0", "1900 2 /n/callback_1: 50 of 100, 50.0",
		}},
		"from the begin of what is asked for": {filter: analyze.Filter{From: trace.Some(int64(1550)), To: trace.Some(int64(1960))}, want: []string{
			"1550 1 : 100 of 300, 33.3", "1550 1 /n/callback_0: 100 of 300, 33.3",
			"1850 2 : 10 of 110, 9.1", "1850 2 /n/callback_1: 10 of 110, 9.1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			_, err := loadedRecording(t, executions).query(test.filter).Loads(t.Context(), 300, func(instances []analyze.LoadInstance) error {
				for _, i := range instances {
					lines = append(lines, fmt.Sprintf("%d %d %s: %d of %d, %.1f", i.Begin, i.TID, i.Callback, i.Busy, i.Recorded, i.Share))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			wantLines(t, lines, test.want...)
		})
	}
}

// Where nothing tells when a process was recorded, the first and the last event of the dataset do.
func TestLoadsOfUnknownRecordedTime(t *testing.T) {
	for name, process := range map[string][]trace.Process{
		"no row":      nil,
		"still going": {{ProcessKey: robot, RecordingStartTimestamp: trace.Some(int64(1100))}},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadedRecording(t, []ran{{1, 0, 1100, 1200, trace.CallbackComplete}, {1, 0, 1300, 1500, trace.CallbackComplete}})
			s.rows.Processes = process
			wantLines(t, loadsOf(t, s.query(analyze.Filter{})), "1 : 2+0, 300 of 400, 75.0 66.7", "1 /n/callback_0: 2+0, 300 of 400, 75.0 66.7")
		})
	}
}

// A process that was met while recording ran before, too. What has no start there did not run since the begin.
func TestLoadsOfAProcessThatBeganLater(t *testing.T) {
	s := loadedRecording(t, []ran{{1, 0, 900, 1100, trace.CallbackComplete}, {2, 1, 0, 1500, trace.CallbackStartMissing}})
	s.rows.Processes = append(s.rows.Processes, trace.Process{
		ProcessKey: trace.ProcessKey{BootID: robot.BootID, PID: robot.PID + 1}, RecordingStartTimestamp: trace.Some(int64(500)),
	})
	wantLines(t, loadsOf(t, s.query(analyze.Filter{})),
		"1 : 1+0, 200 of 1100, 18.2 66.7", "1 /n/callback_0: 1+0, 200 of 1100, 18.2 66.7",
		"2 : 0+1, 0 of 1100, 0.0 0.0", "2 /n/callback_1: 0+1, 0 of 1100, 0.0 0.0")
}

// However many intervals there are, few of them are in memory, and who no longer wants them is asked for no more.
func TestLoadsOfManyIntervals(t *testing.T) {
	stop := errors.New("enough")
	s := loadedRecording(t, []ran{{1, 0, 1000, 2000, trace.CallbackComplete}})
	s.rows.Processes[0].RecordingEndTimestamp = trace.Some(int64(1_000_000_000))
	s.rows.Callbacks[0].CallbackEndTimestamp = trace.Some(int64(1_000_000_000))
	batches, most := 0, 0
	_, err := s.query(analyze.Filter{}).Loads(t.Context(), 1, func(batch []analyze.LoadInstance) error {
		batches++
		most = max(most, len(batch))
		if batches == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || batches != 3 || most > 1<<16 {
		t.Errorf("%v after %d batches of up to %d", err, batches, most)
	}
}

// A thread of a process that two recordings have is answered for in each.
func TestLoadsOfTwoRecordings(t *testing.T) {
	first := loadedRecording(t, []ran{{1, 0, 1100, 1200, trace.CallbackComplete}}).write()
	second := loadedRecording(t, []ran{{1, 0, 1100, 1400, trace.CallbackComplete}}).write()
	wantLines(t, loadsOf(t, newQuery(t, analyze.Filter{}, first, second)),
		"1 : 1+0, 300 of 1000, 30.0 66.7", "1 /n/callback_0: 1+0, 300 of 1000, 30.0 66.7",
		"1 : 1+0, 100 of 1000, 10.0 33.3", "1 /n/callback_0: 1+0, 100 of 1000, 10.0 33.3",
	)
}
