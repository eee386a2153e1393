package analyze

import (
	"cmp"
	"slices"
	"testing"
)

// The worked examples of CARET's documentation (records_service.md, in tenths) and those of caret_analyze's tests that
// agree with it. CARET 2026's code leaves out what the first flow adds to the worst case with external latency; its
// documentation does not.
func TestResponseTimes(t *testing.T) {
	type response struct{ input, best, worst, external int64 }
	type inputOutput struct{ input, output int64 }
	for name, test := range map[string]struct {
		starts []int64
		ways   []inputOutput
		want   []response
	}{
		// The documentation gives 2.3 for the second worst case, "3.2 − 1.0".
		"documented, with a drop": {[]int64{0, 10, 20, 30, 40}, []inputOutput{{0, 1}, {10, 11}, {30, 32}, {40, 43}}, []response{{10, 1, 1, 11}, {30, 2, 12, 22}, {40, 3, 3, 13}}},
		// Crossing and branching ways: the table gives (0.0: 2.0, 2.5), (0.5: 0.5, 3.0), (3.0: 1.0, 2.0), (4.0: 0.5, 2.0) by
		// the input of the flow before.
		"documented, with crossings": {
			[]int64{0, 5, 20, 30, 40, 45, 55},
			[]inputOutput{{0, 20}, {5, 25}, {20, 35}, {30, 35}, {40, 50}, {45, 70}, {55, 60}, {55, 65}},
			[]response{{5, 20, 20, 25}, {30, 5, 15, 30}, {40, 10, 10, 20}, {55, 5, 15, 20}},
		},
		"nothing":                  {nil, nil, nil},
		"one flow":                 {[]int64{0}, []inputOutput{{0, 2}}, nil},
		"two columns":              {[]int64{0, 3, 11}, []inputOutput{{0, 2}, {3, 4}, {11, 12}}, []response{{3, 1, 1, 4}, {11, 1, 1, 9}}},
		"one input, many outputs":  {[]int64{0, 1}, []inputOutput{{0, 4}, {1, 5}, {1, 6}, {1, 13}}, []response{{1, 4, 4, 5}}},
		"many inputs, one output":  {[]int64{0, 1, 2, 5}, []inputOutput{{0, 12}, {1, 13}, {2, 13}, {5, 13}}, []response{{5, 8, 12, 13}}},
		"an input dropped between": {[]int64{0, 1, 2, 5}, []inputOutput{{0, 12}, {1, 13}, {5, 13}}, []response{{5, 8, 12, 13}}},
		"reversed ways":            {[]int64{0, 3, 11, 13}, []inputOutput{{0, 2}, {3, 2}, {3, 4}, {11, 12}, {13, 12}}, []response{{3, 1, 1, 4}, {11, 1, 1, 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []response
			r := &responseTimes{respond: func(r ResponseTimeInstance) {
				got = append(got, response{r.Input, r.Best, r.Worst, r.WorstWithExternalLatency})
			}, respondTo: func(ResponseTimeInputInstance) {}}
			begins := make(map[int64]*pathBegin)
			var last *pathBegin
			for _, at := range test.starts {
				begins[at] = &pathBegin{at: at, setOut: at}
				if last != nil {
					last.next = begins[at]
				}
				last = begins[at]
			}
			slices.SortStableFunc(test.ways, func(a, b inputOutput) int { return cmp.Compare(a.output, b.output) })
			for _, w := range test.ways {
				r.add(begins[w.input], w.output)
			}
			r.settle()
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
