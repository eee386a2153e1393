package main

import "strings"

// evidence is what a difference may come from.
type evidence struct {
	// caret and ours are the rows of the question, by what they are of.
	caret, ours map[string][]row
	// overwritten are the times at which messages were published that were lost in an intra-process buffer.
	overwritten map[string]bool
	// throughNode are the starts of callbacks and the publishes that caret_analyze has as one row of a node.
	throughNode map[[2]string]bool
	// ofAnother are the paths of caret_analyze's that lead through a publish of another message.
	ofAnother map[pathEnds]bool
	// madeIn has the starts of the executions in which messages were published, by the times of the publishes.
	madeIn map[string]string
	// onlyOurs are the begins of executions that only caret-bpf has.
	onlyOurs map[string]bool
	// endless are the begins of executions that did not end while they were recorded.
	endless map[string]bool
	lives   lives
	// inFile is what the architecture file has that caret_analyze reads, by question.
	inFile map[string]map[string]bool
	// passesVariables: nodes have chains of several callbacks.
	passesVariables bool
}

// pathEnds are the ends of a row of a path.
type pathEnds struct{ of, begin, end string }

// add takes note of the answers to a question.
func (e *evidence) add(q question, caret, ours []row) {
	e.caret, e.ours = byWhatTheyAreOf(caret), byWhatTheyAreOf(ours)
	switch q.name {
	case callbacks:
		e.onlyOurs = map[string]bool{}
		_, _, onlyOurs := subtract(caret, ours)
		for _, x := range onlyOurs {
			e.onlyOurs[x.begin] = true
		}
	case communications:
		e.overwritten = map[string]bool{}
		for _, m := range ours {
			if isOverwritten(m) {
				e.overwritten[m.begin] = true
			}
		}
	case paths:
		e.ofAnother = map[pathEnds]bool{}
		for _, p := range caret {
			if e.isOfAnother(q.name, p) {
				e.ofAnother[pathEnds{p.of, p.begin, p.end}] = true
			}
		}
	case nodes:
		e.throughNode = map[[2]string]bool{}
		for _, n := range caret {
			e.throughNode[[2]string{n.begin, n.end}] = true
		}
	}
}

// isOfAnother says whether a row of a path leads through a node from the start of a callback to a publish that is no
// row of the node.
func (e *evidence) isOfAnother(question string, path row) bool {
	bounds := strings.Fields(path.rest)
	first := 0
	if question == pathsWithCallbacks { // they begin with a publish
		first = 1
	}
	for i := first; i+1 < len(bounds); i += 2 {
		if !e.throughNode[[2]string{bounds[i], bounds[i+1]}] {
			return true
		}
	}
	return false
}

func byWhatTheyAreOf(rows []row) map[string][]row {
	by := map[string][]row{}
	for _, r := range rows {
		by[r.of] = append(by[r.of], r)
	}
	return by
}

// madeElsewhere: the recording says of a publish that it was not made in the execution that started at a time.
func (e *evidence) madeElsewhere(start, publish string) bool {
	madeIn, known := e.madeIn[publish]
	return known && madeIn != start
}

// readMadeIn reads when the executions started in which messages were published, by the times of the publishes, that
// test/caret/evidence.py writes; empty outside of callbacks.
func readMadeIn(file string) (map[string]string, error) {
	all := map[string]string{}
	err := readRows(file, func(r *reader) { all[r.column("publish")] = r.column("start") })
	return all, err
}

// readEndless reads which executions have no end, by the times of their starts, from caret-bpf's rows of callbacks.
func readEndless(file string) (map[string]bool, error) {
	all := map[string]bool{}
	err := readRows(file, func(r *reader) {
		if r.column("callback_end_timestamp") == "" {
			all[r.column("callback_start_timestamp")] = true
		}
	})
	return all, err
}

// readInFile reads what test/caret/answers.py says that the architecture file has.
func readInFile(file string) (map[string]map[string]bool, error) {
	all := map[string]map[string]bool{callbacks: {}, communications: {}, nodes: {}}
	err := readRows(file, func(r *reader) {
		if of := all[r.column("question")]; of != nil {
			of[r.column("of")] = true
		}
	})
	return all, err
}

// lives has the times in which subscriptions existed, by topic and node.
type lives map[string][]life

// life is from when until when a subscription existed; empty if that was before or after the recording.
type life struct{ from, to string }

// readLives reads the lives of subscriptions that test/caret/evidence.py writes.
func readLives(file string) (lives, error) {
	all := lives{}
	err := readRows(file, func(r *reader) {
		of := r.column("topic") + " " + r.column("node")
		all[of] = append(all[of], life{r.column("init"), r.column("end")})
	})
	return all, err
}

// had says whether the subscription at the end of an edge existed at a time.
func (l lives) had(edge, at string) bool {
	_, of, _ := strings.Cut(edge, " ")
	for _, one := range l[of] {
		if (one.from == "" || !before(at, one.from)) && (one.to == "" || before(at, one.to)) {
			return true
		}
	}
	return false
}

// before compares times that are written as text.
func before(one, other string) bool {
	if len(one) != len(other) {
		return len(one) < len(other)
	}
	return one < other
}
