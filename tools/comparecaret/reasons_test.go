package main

import "testing"

// executions are those of a callback; caret_analyze lacks the last one.
var executions = []row{{of: "c", begin: "500", end: "600"}, {of: "c", begin: "700", end: "800"}, {of: "c", begin: "900", end: "990"}}

func TestOnlyWhatHasAKnownReasonIsExplained(t *testing.T) {
	t.Parallel()
	external := func(begin, end string) row {
		return row{of: "p", begin: begin, rest: worstWithExternalLatency, end: end}
	}
	for name, test := range map[string]struct {
		question    string
		caret, ours []row
		messages    []row
		passes      bool
		inFile      map[string]map[string]bool
		others      map[pathEnds]bool // of caret_analyze, that lead through a publish of another message
		want        map[reason]int
		unexplained int
	}{
		"a callback that ran within itself": {
			question: callbacks,
			caret:    []row{{of: "c", begin: "20", end: "30"}},
			ours:     []row{{of: "c", begin: "9", end: "40"}, {of: "c", begin: "20", end: "30"}},
			want:     map[reason]int{"overlapping executions": 1},
		},
		"a callback that ran twice, one after the other": {
			question: callbacks,
			caret:    []row{{of: "c", begin: "20", end: "30"}},
			ours:     []row{{of: "c", begin: "9", end: "20"}, {of: "c", begin: "20", end: "30"}}, unexplained: 1,
		},
		"another callback ran meanwhile": {
			question: callbacks,
			caret:    []row{{of: "d", begin: "20", end: "30"}},
			ours:     []row{{of: "c", begin: "9", end: "40"}, {of: "d", begin: "20", end: "30"}}, unexplained: 1,
		},
		"the first flow has no case": {
			question: responseTimes,
			caret:    []row{external("20", "45")},
			ours:     []row{external("9", "25"), external("20", "45")},
			want:     map[reason]int{"first flow": 1},
		},
		"the first flow begins with a lost input": {
			question: responseTimes,
			caret:    []row{external("11", "25")},
			ours:     []row{external("9", "25")},
			want:     map[reason]int{"first flow": 2},
		},
		"a later flow has another begin": {
			question: responseTimes,
			caret:    []row{external("9", "25"), external("21", "45")},
			ours:     []row{external("9", "25"), external("20", "45")}, unexplained: 2,
		},
		"the first flow has another best case": {
			question: responseTimes,
			ours:     []row{{of: "p", begin: "9", rest: "best", end: "25"}, external("9", "25")},
			want:     map[reason]int{"first flow": 1}, unexplained: 1,
		},
		"a message was overwritten in its buffer": {
			question: communications,
			ours:     []row{{of: "m", begin: "9", rest: noLayers}},
			want:     map[reason]int{"intra-process loss": 1},
		},
		"a message was lost by the middleware": {
			question: communications,
			ours:     []row{{of: "m", begin: "9", rest: "10 11"}}, unexplained: 1,
		},
		"a message of a buffer arrived": {
			question: communications,
			ours:     []row{{of: "m", begin: "9", rest: noLayers, end: "12"}}, unexplained: 1,
		},
		"the oldest input was overwritten": {
			question: responseTimes,
			caret:    []row{{of: "p", begin: "20", rest: worst, end: "30"}},
			ours:     []row{{of: "p", begin: "10", rest: worst, end: "30"}},
			messages: []row{{of: "m", begin: "10", rest: noLayers}},
			want:     map[reason]int{"intra-process loss": 2},
		},
		"the oldest input was not overwritten": {
			question: responseTimes,
			caret:    []row{{of: "p", begin: "20", rest: worst, end: "30"}},
			ours:     []row{{of: "p", begin: "10", rest: worst, end: "30"}},
			messages: []row{{of: "m", begin: "11", rest: noLayers}, {of: "m", begin: "10", rest: noLayers, end: "20"}}, unexplained: 2,
		},
		"a message was published before its subscription existed": {
			question: communications,
			caret:    []row{{of: "/a /t /b", begin: "99", rest: "10 11"}},
			want:     map[reason]int{"no subscription": 1},
		},
		"a message was published between two subscriptions": {
			question: communications,
			caret:    []row{{of: "/a /t /b", begin: "200", rest: "10 11"}},
			want:     map[reason]int{"no subscription": 1},
		},
		"a message was published while there was a subscription": {
			question: communications,
			caret:    []row{{of: "/a /t /b", begin: "100", rest: "10 11"}, {of: "/a /t /b", begin: "300", rest: "10 11"}}, unexplained: 2,
		},
		"the recording ended in a node's callback": {
			question: nodes,
			ours:     []row{{of: "n", begin: "990"}, {of: "n", begin: "10"}},
			want:     map[reason]int{"no end": 1}, unexplained: 1,
		},
		"a node's publish was made in the next execution": {
			question: nodes,
			caret:    []row{{of: "n", begin: "500", end: "710"}},
			ours:     []row{{of: "n", begin: "500"}, {of: "n", begin: "700", end: "710"}},
			want:     map[reason]int{"publish of another message": 3},
		},
		"a node's publish was made in a nested execution": {
			question: nodes,
			caret:    []row{{of: "n", begin: "500", end: "530"}, {of: "n", begin: "700"}},
			ours:     []row{{of: "n", begin: "500", end: "550"}, {of: "n", begin: "700", end: "710"}},
			want:     map[reason]int{"publish of another message": 2}, unexplained: 2,
		},
		"a publish that was made outside of callbacks": {
			question: nodes,
			caret:    []row{{of: "n", begin: "700", end: "920"}},
			want:     map[reason]int{"publish of another message": 1},
		},
		"a publish of which it is not known where it was made": {
			question: nodes,
			caret:    []row{{of: "n", begin: "700", end: "930"}}, unexplained: 1,
		},
		"a variable was read three times, and something published once": {
			question: nodes, passes: true,
			caret: []row{{of: "n", begin: "10"}, {of: "n", begin: "10", end: "40"}, {of: "n", begin: "10"}, {of: "n", begin: "11"}},
			ours:  []row{{of: "n", begin: "10", end: "40"}},
			want:  map[reason]int{"nothing published": 2}, unexplained: 1,
		},
		"a callback that is a chain of its own published nothing": {
			question: nodes,
			caret:    []row{{of: "n", begin: "10"}},
			ours:     []row{{of: "n", begin: "10", end: "40"}}, unexplained: 2,
		},
		"a chain published before anything came": {
			question: nodes, passes: true,
			ours: []row{{of: "n", end: "40"}, {of: "n", begin: "10", end: "50"}},
			want: map[reason]int{"output without input": 1}, unexplained: 1,
		},
		"a callback of a service": {
			question: callbacks, inFile: map[string]map[string]bool{callbacks: {"c": true}},
			ours: []row{{of: "s", begin: "1", end: "2"}, {of: "c", begin: "3", end: "4"}},
			want: map[reason]int{"not in the file": 1}, unexplained: 1,
		},
		"a callback that only caret_analyze knows": {
			question: callbacks, inFile: map[string]map[string]bool{callbacks: {"c": true}},
			caret: []row{{of: "s", begin: "1", end: "2"}}, unexplained: 1,
		},
		"a callback published twice": {
			question: nodes,
			caret:    []row{{of: "n", begin: "500", end: "550"}},
			ours:     []row{{of: "n", begin: "500", end: "550"}, {of: "n", begin: "500", end: "560"}},
			want:     map[reason]int{"second publish": 1},
		},
		"the first of two publishes is missing": {
			question: nodes,
			caret:    []row{{of: "n", begin: "500", end: "560"}},
			ours:     []row{{of: "n", begin: "500", end: "550"}, {of: "n", begin: "500", end: "560"}}, unexplained: 1,
		},
		"a node's publish was made in the execution": {
			question: nodes,
			caret:    []row{{of: "n", begin: "500", end: "550"}},
			ours:     []row{{of: "n", begin: "500", end: "560"}}, unexplained: 2,
		},
		"a node's row begins with an execution that only one has": {
			question: nodes,
			ours:     []row{{of: "n", begin: "900", end: "910"}, {of: "n", begin: "810", end: "815"}},
			want:     map[reason]int{"overlapping executions": 1}, unexplained: 1,
		},
		"a path goes through a node's callback and a publish that was not made in it": {
			question: paths,
			caret:    []row{{of: "p", begin: "10", rest: "20 26", end: "40"}},
			want:     map[reason]int{"publish of another message": 1},
		},
		"a path begins and ends with executions that only one has": {
			question: pathsWithCallbacks,
			caret:    []row{{of: "p", begin: "930", rest: "940 950", end: "960"}, {of: "p", begin: "10", rest: "20 900", end: "950"}},
			ours:     []row{{of: "p", begin: "900", rest: "940 950", end: "960"}, {of: "p", begin: "10", rest: "20 900", end: "990"}},
			want:     map[reason]int{"overlapping executions": 4},
		},
		"a path ends with an execution that both have": {
			question: pathsWithCallbacks,
			caret:    []row{{of: "p", begin: "10", rest: "20 700", end: "790"}},
			ours:     []row{{of: "p", begin: "10", rest: "20 700", end: "800"}}, unexplained: 2,
		},
		"a path with callbacks goes through a publish that was not made in the node's callback": {
			question: pathsWithCallbacks,
			caret:    []row{{of: "p", begin: "5", rest: "10 20 26 40", end: "45"}},
			want:     map[reason]int{"publish of another message": 1},
		},
		"a path with callbacks goes through the publish that was made in the node's callback": {
			question: pathsWithCallbacks,
			caret:    []row{{of: "p", begin: "5", rest: "10 20 25 40", end: "45"}}, unexplained: 1,
		},
		"an input was overwritten": {
			question: delays,
			ours:     []row{{of: "p", begin: "10", end: "30"}, {of: "p", begin: "11", end: "30"}},
			messages: []row{{of: "m", begin: "10", rest: noLayers}},
			want:     map[reason]int{"intra-process loss": 1}, unexplained: 1,
		},
		"a delay until the first output": {
			question: delays,
			caret:    []row{{of: "p", begin: "10", end: "30"}, {of: "p", begin: "40", end: "60"}, {of: "p", begin: "41", end: "60"}},
			ours:     []row{{of: "p", begin: "40", end: "60"}},
			want:     map[reason]int{"first flow": 1}, unexplained: 1,
		},
		"the first output is that of another message": {
			question: responseTimes,
			caret:    []row{{of: "p", begin: "20", rest: "best", end: "45"}, {of: "p", begin: "50", rest: "best", end: "65"}},
			ours:     []row{{of: "p", begin: "50", rest: "best", end: "65"}},
			others:   map[pathEnds]bool{{"p", "9", "40"}: true},
			want:     map[reason]int{"first flow": 1},
		},
		"that of another path is": {
			question: responseTimes,
			caret:    []row{{of: "p", begin: "20", rest: "best", end: "45"}},
			others:   map[pathEnds]bool{{"o", "9", "40"}: true, {"p", "21", "46"}: true}, unexplained: 1,
		},
		"a path goes through a node's callback and its publish": {
			question: paths,
			caret:    []row{{of: "p", begin: "10", rest: "20 25", end: "40"}}, unexplained: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := evidence{
				passesVariables: test.passes, inFile: test.inFile, ofAnother: test.others,
				endless: map[string]bool{"990": true},
				lives:   lives{"/t /b": {{from: "100", to: "200"}, {from: "300"}}},
				madeIn:  map[string]string{"530": "520", "550": "500", "560": "500", "710": "700", "920": ""},
			}
			known.add(question{name: callbacks}, executions[:2], executions)
			known.add(question{name: communications}, nil, test.messages)
			known.add(question{name: nodes}, []row{{of: "n", begin: "20", end: "25"}}, nil)
			q := question{name: test.question}
			known.add(q, test.caret, test.ours)
			c := compare(q, test.caret, test.ours, &known)
			if len(c.unexplained) != test.unexplained {
				t.Errorf("%d rows have no known reason: %v", len(c.unexplained), c.unexplained)
			}
			for _, r := range reasons() {
				if c.explained[r.name] != test.want[r.name] {
					t.Errorf("%d rows differ by %q, not %d", c.explained[r.name], r.name, test.want[r.name])
				}
			}
		})
	}
}
