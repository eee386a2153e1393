package merge_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
)

// opened is the state of a thread in which callbacks are open, outermost first.
func opened(frames ...abi.CallbackFrame) abi.ThreadState {
	state := abi.ThreadState{PID: 7, TID: 8, Depth: uint32(len(frames))}
	copy(state.Frames[:], frames)
	return state
}

// Of what was read while the thread went on, only that counts which was so before and after.
func TestOpenCallbacks(t *testing.T) {
	outer, inner, next := abi.CallbackFrame{Callback: 1, StartNs: 10}, abi.CallbackFrame{Callback: 2, StartNs: 20}, abi.CallbackFrame{Callback: 2, StartNs: 40}
	stepped := outer
	stepped.Steps = 1
	ended := opened(outer, inner)
	ended.Depth = 0
	another := opened(outer)
	another.PID = 9
	for name, test := range map[string]struct {
		earlier, later abi.ThreadState
		want           []int64 // starts
	}{
		"nothing":                     {opened(), opened(), nil},
		"one":                         {opened(outer), opened(outer), []int64{10}},
		"nested":                      {opened(outer, inner), opened(outer, inner), []int64{10, 20}},
		"the inner one has ended":     {opened(outer, inner), opened(outer), []int64{10}},
		"the inner one has begun":     {opened(outer), opened(outer, inner), []int64{10}},
		"another one has begun":       {opened(outer, inner), opened(outer, next), []int64{10}},
		"half of another one":         {opened(abi.CallbackFrame{Callback: 2, StartNs: 10}), opened(next), nil},
		"all have ended":              {opened(outer, inner), ended, nil},
		"an executor in it has begun": {opened(outer), opened(stepped), []int64{10}},
		"a thread of another process": {opened(outer), another, nil},
	} {
		m := newMerger(merge.Options{RealtimeOffset: offset})
		if err := m.AddOpenCallbacks(30, encode(test.earlier), encode(test.later)); err != nil {
			t.Fatal(err)
		}
		rows := take(t, m)
		var starts []int64
		for depth, row := range rows.OpenCallbacks {
			starts = append(starts, row.CallbackStartTimestamp-offset)
			if row.SeenTimestamp != 30+offset || row.PID != 7 || row.TID != 8 || int(row.Depth) != depth {
				t.Errorf("%s: %+v", name, row)
			}
		}
		if !slices.Equal(starts, test.want) || len(rows.Callbacks) > 0 {
			t.Errorf("%s: open since %v, want %v; %d ended", name, starts, test.want, len(rows.Callbacks))
		}
	}
}

// A callback that a filter leaves out is not told of while it is open. Whether something was withheld is counted when
// it has ended.
func TestOpenCallbacksAreFiltered(t *testing.T) {
	m := newMerger(merge.Options{Filter: &merge.Filter{SelectNodes: []*regexp.Regexp{regexp.MustCompile("^/selected$")}}})
	state := encode(opened(abi.CallbackFrame{Callback: 1, StartNs: 10}))
	if err := m.AddOpenCallbacks(30, state, state); err != nil {
		t.Fatal(err)
	}
	if rows := take(t, m); len(rows.OpenCallbacks) > 0 {
		t.Errorf("%+v", rows.OpenCallbacks)
	}
	for _, line := range m.Unresolved() {
		if strings.Contains(line, "withheld") {
			t.Error(line)
		}
	}
	if err := m.AddOpenCallbacks(30, nil, nil); err == nil {
		t.Error("nothing is taken for the state of a thread")
	}
}
