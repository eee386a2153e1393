package main

import (
	"slices"
	"strings"
)

// reason is the name of a known difference, which docs/latency.md explains.
type reason string

// explanation finds out whether a difference has a certain reason.
type explanation struct {
	name     reason
	explains func(question, *evidence, difference) bool
}

// reasons are tried in this order.
func reasons() []explanation {
	return []explanation{
		{name: "not in the file", explains: isNotInFile},
		{name: "overlapping executions", explains: isOverlapped},
		{name: "overlapping executions", explains: isInOverlapped},
		{name: "overlapping executions", explains: isBetweenOverlapped},
		{name: "no end", explains: isEndless},
		{name: "intra-process loss", explains: isIntraProcessLoss},
		{name: "intra-process loss", explains: beginsWithIntraProcessLoss},
		{name: "intra-process loss", explains: isOfIntraProcessLoss},
		{name: "no subscription", explains: hasNoSubscription},
		{name: "publish of another message", explains: isPublishOfAnother},
		{name: "publish of another message", explains: isOfAnotherMessage},
		{name: "nothing published", explains: isReadForNothing},
		{name: "output without input", explains: isWithoutInput},
		{name: "second publish", explains: isSecondPublish},
		{name: "first flow", explains: isFirstFlow},
		{name: "first flow", explains: isBeforeFirstFlow},
		{name: "first flow", explains: isBehindAnotherMessage},
	}
}

// isNotInFile: caret_analyze answers of what the architecture file has. That leaves out what it has no words for:
// services and their callbacks, and what no known callback publishes or receives.
func isNotInFile(q question, e *evidence, d difference) bool {
	known := e.inFile[q.name]
	return known != nil && !d.onlyCaret && !known[d.of]
}

// isOverlapped: a callback was executed again while it ran. caret_analyze joins starts and ends of a callback by their
// order alone, so it loses the outer execution, or gives it the inner one's end.
func isOverlapped(q question, e *evidence, d difference) bool {
	if q.name != callbacks {
		return false
	}
	for _, other := range e.ours[d.of] {
		if other.begin != d.begin && before(other.begin, d.end) && before(d.begin, other.end) {
			return true
		}
	}
	return false
}

// isOverwritten: the message has no layers below rclcpp, and did not arrive.
func isOverwritten(message row) bool { return message.rest == noLayers && message.end == "" }

// isInOverlapped: so it has no rows of nodes either that begin with such an execution.
func isInOverlapped(q question, e *evidence, d difference) bool {
	return q.name == nodes && !d.onlyCaret && e.onlyOurs[d.begin]
}

// isBetweenOverlapped: and a path that begins or ends with such an execution has the begin or the end of another one.
func isBetweenOverlapped(q question, e *evidence, d difference) bool {
	return q.name == pathsWithCallbacks && slices.ContainsFunc(e.ours[d.of], func(r row) bool {
		if r.rest != d.rest { // what lies between the callbacks
			return false
		}
		bounds := strings.Fields(r.begin + " " + r.rest)
		return e.onlyOurs[r.begin] || e.onlyOurs[bounds[len(bounds)-1]]
	})
}

// isEndless: the execution of a callback did not end while it was recorded. caret_analyze has no rows of nodes that
// begin with one.
func isEndless(q question, e *evidence, d difference) bool {
	return q.name == nodes && !d.onlyCaret && e.endless[d.begin]
}

// isIntraProcessLoss: caret_analyze has no rows of messages that were overwritten in an intra-process buffer.
func isIntraProcessLoss(q question, _ *evidence, d difference) bool {
	return q.name == communications && !d.onlyCaret && isOverwritten(d.row)
}

// beginsWithIntraProcessLoss: so it does not take such a message for the oldest input of a flow either.
func beginsWithIntraProcessLoss(q question, e *evidence, d difference) bool {
	if q.name != responseTimes || d.rest != worst {
		return false
	}
	for _, r := range e.ours[d.of] {
		if r.rest == d.rest && r.end == d.end && e.overwritten[r.begin] {
			return true
		}
	}
	return false
}

// isOfIntraProcessLoss: and it has no response time of it.
func isOfIntraProcessLoss(q question, e *evidence, d difference) bool {
	return (q.name == delays || q.name == responseTimes && d.rest == all) && !d.onlyCaret && e.overwritten[d.begin]
}

// hasNoSubscription: caret_analyze waits for messages at subscriptions that did not exist yet, or no more, when they
// were published.
func hasNoSubscription(q question, e *evidence, d difference) bool {
	return q.name == communications && d.onlyCaret && d.end == "" && !e.lives.had(d.of, d.begin)
}

// isPublishOfAnother: in a callback chain, caret_analyze joins the start of a callback with the publisher's next
// publish, whichever callback made it. So it has a publish that was made elsewhere, and lacks the one that was made
// there, or says that there was none.
func isPublishOfAnother(q question, e *evidence, d difference) bool {
	if q.name != nodes {
		return false
	}
	elsewhere := func(r row) bool { return e.madeElsewhere(r.begin, r.end) }
	switch {
	case d.onlyCaret && d.end != "":
		return elsewhere(d.row)
	case d.onlyCaret: // a publish was made in it, which caret_analyze has elsewhere
		return slices.ContainsFunc(e.ours[d.of], func(r row) bool {
			return r.begin == d.begin && slices.ContainsFunc(e.caret[d.of], func(other row) bool { return other.end == r.end && elsewhere(other) })
		})
	default:
		return slices.ContainsFunc(e.caret[d.of], func(r row) bool {
			return (r.begin == d.begin || d.end != "" && r.end == d.end) && elsewhere(r)
		})
	}
}

// isOfAnotherMessage: behind a callback chain, caret_analyze joins each publish with the last message of the path at or
// before it, whichever message it was made of. Where a node gets messages from several publishers, its own rows of the
// node tell that the publish was not made in the callback.
func isOfAnotherMessage(q question, e *evidence, d difference) bool {
	switch q.name {
	case paths, pathsWithCallbacks:
		return d.onlyCaret && e.isOfAnother(q.name, d.row)
	case delays:
		return d.onlyCaret && e.ofAnother[pathEnds{d.of, d.begin, d.end}]
	}
	return false
}

// isReadForNothing: a callback of a chain read what an earlier one had left, and published nothing. caret_analyze has a
// row of each such time, caret-bpf one of each input, at most.
func isReadForNothing(q question, e *evidence, d difference) bool {
	return q.name == nodes && e.passesVariables && d.onlyCaret && d.end == "" &&
		slices.ContainsFunc(e.ours[d.of], func(r row) bool { return r.begin == d.begin })
}

// isWithoutInput: a chain of several callbacks published although nothing had come before. caret_analyze has no row of
// it.
func isWithoutInput(q question, e *evidence, d difference) bool {
	return q.name == nodes && e.passesVariables && !d.onlyCaret && d.begin == ""
}

// isSecondPublish: a callback published a topic more than once. caret_analyze has the first publish only.
func isSecondPublish(q question, e *evidence, d difference) bool {
	return q.name == nodes && !d.onlyCaret && slices.ContainsFunc(e.caret[d.of], func(r row) bool {
		return r.begin == d.begin && r.end != "" && before(r.end, d.end) && slices.Contains(e.ours[d.of], r)
	})
}

// isFirstFlow: caret_analyze takes no input into account that led to the first output, nor one before it. So the first
// flow that has cases has nothing before it from which its worst case with external latency could begin, or begins with
// an input that was lost.
func isFirstFlow(q question, e *evidence, d difference) bool {
	if q.name != responseTimes || d.rest != worstWithExternalLatency {
		return false
	}
	for _, r := range e.ours[d.of] {
		if r.rest == d.rest && before(r.end, d.end) {
			return false
		}
	}
	return true
}

// isBeforeFirstFlow: caret_analyze's delays have the first output, too, which is no flow of caret-bpf's that has cases.
func isBeforeFirstFlow(q question, e *evidence, d difference) bool {
	return q.name == delays && d.onlyCaret && !slices.ContainsFunc(e.ours[d.of], func(r row) bool { return !before(d.end, r.end) })
}

// isBehindAnotherMessage: caret_analyze's first output is one to which the publish of another message led. So it has
// cases of the next one, which is the first of caret-bpf's.
func isBehindAnotherMessage(q question, e *evidence, d difference) bool {
	if q.name != responseTimes || !d.onlyCaret ||
		slices.ContainsFunc(e.ours[d.of], func(r row) bool { return !before(d.end, r.end) }) {
		return false
	}
	for path := range e.ofAnother {
		if path.of == d.of && before(path.end, d.end) {
			return true
		}
	}
	return false
}
