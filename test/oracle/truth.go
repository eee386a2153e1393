package oracle

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// Truth is what a stand-in wrote of itself, by thread and with its references resolved.
type Truth struct {
	*groundtruth.Truth
	nodes   map[uint64]string // full names by handle
	threads []*threadTruth
	// operations are those of each buffer, in the order of time.
	operations map[uint64][]operation
}

// threadTruth are the events of one thread, each kind in the order of time. Thread ids may be reused, so several
// threads can have one.
type threadTruth struct {
	tid        int32
	executions []*execution
	publishes  []*publishTruth
	takes      []*takeTruth // those that fed no callback
	enqueues   []*enqueueTruth
	dequeues   []*dequeueTruth
	steps      []*stepTruth
	instants   []instant
	rawTakes   []groundtruth.RawTake // those that took something
	exit       uint64                // 0: it did not
	sorted     []groundtruth.Bracket // what hits returns
}

// execution is one execution of a callback.
type execution struct {
	groundtruth.Callback
	parent *execution // nil: outermost
	fed    *dequeueTruth
	take   takeTruth // what fed it, if that happened
	// unfinished: the process died before it wrote it down, so only its address and start are known.
	unfinished bool
}

type publishTruth struct {
	groundtruth.Publish
	in       *execution // nil: outside of callbacks
	enqueues []*enqueueTruth
	// raw is the call that published a serialized or loaned message; nil: neither.
	raw *groundtruth.RawPublish
}

type takeTruth struct {
	groundtruth.Take
	in *execution
	// raw is the call that took a serialized or loaned message; nil: neither.
	raw *groundtruth.RawTake
	// feeds is the execution that got the message; nil for others.
	feeds *execution
	// dropped: the subscription had the message through intra-process communication, too.
	dropped bool
}

type enqueueTruth struct {
	groundtruth.Enqueue
	publish *publishTruth // nil: the process died before it wrote it down
	// observable encloses the instant at which a recorder can know of it, needed all that it must have seen for that.
	observable, needed groundtruth.Bracket
}

type dequeueTruth struct {
	groundtruth.Dequeue
	feeds      *execution // nil: no callback
	observable groundtruth.Bracket
	// concluded: only the start of the callback that it feeds shows it, and that only if an enqueue of the thread was seen
	// before.
	concluded bool
}

// stepTruth is a step of a service call, feeds the callback that a taken request led to.
type stepTruth struct {
	groundtruth.ServiceStep
	in, feeds *execution // nil: none
}

// layers returns the brackets of a publish in the order of the layers.
func (p *publishTruth) layers() [layerCount]groundtruth.Bracket {
	return [layerCount]groundtruth.Bracket{p.Intra, p.RCLCPP, p.RCL, p.RMW, p.Stamp}
}

// The layers of a publish in their order.
const (
	layerIntra = iota
	layerRclcpp
	layerRcl
	layerRMW
	layerStamp
	layerCount
)

var layerNames = [layerCount]string{"intra", "rclcpp", "rcl", "rmw", "stamp"}

// NewTruth checks that a ground truth does not contradict itself, and resolves its references.
func NewTruth(t *testing.T, parsed *groundtruth.Truth) *Truth {
	t.Helper()
	if err := parsed.Validate(); err != nil {
		t.Fatal(err)
	}
	return Resolve(parsed)
}

// Resolve sorts events by thread and turns the times and numbers by which they refer to each other into pointers.
func Resolve(parsed *groundtruth.Truth) *Truth {
	result := &Truth{Truth: parsed, nodes: map[uint64]string{}}
	for _, node := range parsed.Nodes {
		result.nodes[node.Node] = fullName(node)
	}
	byTID := map[int][]*threadTruth{}
	for _, exit := range parsed.ThreadExits {
		byTID[exit.TID] = append(byTID[exit.TID], &threadTruth{tid: int32(exit.TID), exit: exit.Time})
	}
	for _, threads := range byTID {
		slices.SortFunc(threads, func(a, b *threadTruth) int { return cmp.Compare(a.exit, b.exit) })
	}
	// at returns the thread that had the id at an instant.
	at := func(tid int, time uint64) *threadTruth {
		for _, thread := range byTID[tid] {
			if thread.exit == 0 || time <= thread.exit {
				return thread
			}
		}
		thread := &threadTruth{tid: int32(tid)}
		byTID[tid] = append(byTID[tid], thread)
		return thread
	}
	for i := range parsed.Callbacks {
		c := parsed.Callbacks[i]
		thread := at(c.TID, c.Start.Before)
		thread.executions = append(thread.executions, &execution{Callback: c})
	}
	for i := range parsed.Publishes {
		p := &publishTruth{Publish: parsed.Publishes[i]}
		thread := at(p.TID, max(p.begin(), p.CallbackStart))
		thread.publishes = append(thread.publishes, p)
	}
	for i := range parsed.Takes {
		thread := at(parsed.Takes[i].TID, parsed.Takes[i].Bracket.Before)
		thread.takes = append(thread.takes, &takeTruth{Take: parsed.Takes[i]})
	}
	for i := range parsed.Enqueues {
		thread := at(parsed.Enqueues[i].TID, parsed.Enqueues[i].Bracket.Before)
		thread.enqueues = append(thread.enqueues, &enqueueTruth{Enqueue: parsed.Enqueues[i]})
	}
	for i := range parsed.Dequeues {
		thread := at(parsed.Dequeues[i].TID, parsed.Dequeues[i].Bracket.Before)
		thread.dequeues = append(thread.dequeues, &dequeueTruth{Dequeue: parsed.Dequeues[i]})
	}
	for i := range parsed.ServiceSteps {
		thread := at(parsed.ServiceSteps[i].TID, parsed.ServiceSteps[i].Bracket.Before)
		thread.steps = append(thread.steps, &stepTruth{ServiceStep: parsed.ServiceSteps[i]})
	}
	for _, kind := range instantKinds {
		kind.happened(parsed, func(tid int, event instant) {
			thread := at(tid, event.bracket.Before)
			thread.instants = append(thread.instants, event)
		})
	}
	for _, raw := range parsed.RawTakes {
		if thread := at(raw.TID, raw.Bracket.Before); raw.Taken {
			thread.rawTakes = append(thread.rawTakes, raw)
		}
	}
	for _, threads := range byTID {
		result.threads = append(result.threads, threads...)
	}
	slices.SortFunc(result.threads, func(a, b *threadTruth) int { return cmp.Or(cmp.Compare(a.tid, b.tid), cmp.Compare(a.exit, b.exit)) })
	for _, thread := range result.threads {
		thread.link()
		thread.linkRaw(parsed.RawPublishes)
	}
	result.resolveIntraProcess()
	return result
}

func fullName(node groundtruth.Node) string {
	return strings.TrimSuffix(node.Namespace, "/") + "/" + node.Name
}

// begin is the first instant of a publish.
func (p *publishTruth) begin() uint64 {
	for _, layer := range p.layers() {
		if layer.Happened() {
			return layer.Before
		}
	}
	return p.Stamp.Before
}

// link resolves the references within a thread. What they lead to can only be missing when the process was killed.
func (t *threadTruth) link() {
	byStart := map[uint64]*execution{}
	for _, e := range t.executions {
		byStart[e.Start.Before] = e
	}
	enclosing := func(address, start uint64) *execution {
		if address == 0 {
			return nil
		}
		if byStart[start] == nil {
			e := &execution{unfinished: true}
			e.TID, e.Callback.Callback, e.Start = int(t.tid), address, groundtruth.Bracket{Before: start, After: start}
			byStart[start] = e
			t.executions = append(t.executions, e)
		}
		return byStart[start]
	}
	dequeues := map[uint64]*dequeueTruth{}
	for _, d := range t.dequeues {
		dequeues[d.Bracket.Before] = d
	}
	for _, e := range slices.Clone(t.executions) {
		e.parent = enclosing(e.Parent, e.ParentStart)
		if e.fed = dequeues[e.Dequeue.Before]; e.fed != nil {
			e.fed.feeds = e
		}
	}
	publishes := map[uint64]*publishTruth{}
	for _, p := range t.publishes {
		p.in = enclosing(p.Callback, p.CallbackStart)
		publishes[p.Number] = p
	}
	for _, take := range t.takes {
		take.in = enclosing(take.Callback, take.CallbackStart)
	}
	for _, step := range t.steps {
		step.in = enclosing(step.Callback, step.CallbackStart)
	}
	for _, e := range t.enqueues {
		if e.publish = publishes[e.PublishNumber]; e.publish != nil {
			e.publish.enqueues = append(e.publish.enqueues, e)
		}
	}
	slices.SortFunc(t.executions, func(a, b *execution) int { return cmp.Compare(a.Start.Before, b.Start.Before) })
	slices.SortFunc(t.publishes, func(a, b *publishTruth) int { return cmp.Compare(a.Number, b.Number) })
	t.linkRequests()
	hits := t.sortHits()
	for _, e := range t.executions {
		if e.unfinished {
			e.Start.After = nextHit(hits, e.Start.Before).Before
		}
	}
}

// linkRequests finds the callbacks that taken requests led to: the next one on the thread that serves the request.
func (t *threadTruth) linkRequests() {
	for _, step := range t.steps {
		if step.Step != groundtruth.StepTakeRequest || !step.Taken {
			continue
		}
		for _, e := range t.executions {
			if e.Kind == groundtruth.KindService && e.Start.Before >= step.Bracket.After &&
				e.ClientGID == step.ClientGID && e.SequenceNumber == step.SequenceNumber {
				step.feeds = e
				break
			}
		}
	}
}

// leavesRow reports whether a step is recorded: a take that took nothing is not.
func (s *stepTruth) leavesRow() bool {
	return s.Taken || s.Step == groundtruth.StepSendRequest || s.Step == groundtruth.StepSendResponse
}

// hits returns every tracepoint that the thread hit, in the order of time.
func (t *threadTruth) hits() []groundtruth.Bracket {
	if t.sorted == nil {
		t.sorted = t.sortHits()
	}
	return t.sorted
}

func (t *threadTruth) sortHits() []groundtruth.Bracket {
	var hits []groundtruth.Bracket
	add := func(brackets ...groundtruth.Bracket) {
		for _, b := range brackets {
			if b.Happened() {
				hits = append(hits, b)
			}
		}
	}
	for _, e := range t.executions {
		add(e.Start, e.End, e.Take)
	}
	for _, p := range t.publishes {
		layers := p.layers()
		add(layers[:]...)
	}
	for _, take := range t.takes {
		add(take.Bracket)
	}
	for _, step := range t.steps {
		if step.leavesRow() {
			add(step.Bracket)
		}
	}
	slices.SortFunc(hits, func(a, b groundtruth.Bracket) int { return cmp.Compare(a.Before, b.Before) })
	return hits
}

// hitBefore returns when the last hit began that was before an instant, 0 if there was none.
func (t *threadTruth) hitBefore(at uint64) uint64 {
	hits := t.hits()
	i, _ := slices.BinarySearchFunc(hits, at, func(b groundtruth.Bracket, at uint64) int { return cmp.Compare(b.Before, at) })
	if i == 0 {
		return 0
	}
	return hits[i-1].Before
}

// nextHit returns the first of the sorted hits that began after an instant.
func nextHit(hits []groundtruth.Bracket, after uint64) groundtruth.Bracket {
	i, _ := slices.BinarySearchFunc(hits, after+1, func(b groundtruth.Bracket, at uint64) int { return cmp.Compare(b.Before, at) })
	if i == len(hits) {
		return groundtruth.Bracket{}
	}
	return hits[i]
}
