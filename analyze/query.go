package analyze

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrNothingSelected is returned when no entity of the datasets fits what a query asks for.
var ErrNothingSelected = errors.New("nothing fits")

// Filter selects what a query is about. The zero Filter selects everything.
type Filter struct {
	// Nodes, Topics (and names of services) and Callbacks (names or symbols) are patterns, one of which has to match the
	// whole name.
	Nodes, Topics, Callbacks []*regexp.Regexp
	// Processes are PIDs in the recorder's PID namespace.
	Processes []int32
	// From and To bound the begin of instances, in Unix nanoseconds on the clock of the first dataset; both ends are
	// included.
	From, To trace.Optional[int64]
}

// Query is a question to one or several datasets, which are taken for one system. The memory of the batches that its
// methods pass on is used again: who keeps rows or instances copies them.
type Query struct {
	// Warnings say what the answers lack: damaged segments, what could not be linked.
	Warnings []string
	// Damaged are the segments that could not be read, or not to their end: they are among the warnings, too.
	Damaged []*trace.SegmentError
	// Architecture is what the datasets tell of the system.
	Architecture *system.Architecture
	// Progress, if not nil, is called with the rows that were read of those that have to be. It may be called by several
	// goroutines.
	Progress func(read, total int64)
	// WindowRows is the number of rows that are read for a window of time, about; 0 is the default. Fewer take less
	// memory. A window has to be longer than the time from a take to the start of its callback, and than clocks of hosts
	// differ: else messages may seem lost.
	WindowRows int

	datasets       []*trace.Dataset
	clocks         []clockCorrection
	hosts          *clockHosts
	alignment      clockAlignment
	warnedOfClocks map[[2]int]bool
	filter         Filter
	unknown        *system.Unknowns
	recorded       *recordedProcesses
	homes          processHomes
	loader         *system.Loader
	active         bool // loader has read which callbacks publish and poll what
	fused          bool // it was inferred which nodes fuse what they receive
}

// NewQuery prepares a question: it reads the entities and the clocks.
func NewQuery(ctx context.Context, filter Filter, datasets ...*trace.Dataset) (*Query, error) {
	q := &Query{
		datasets: datasets, filter: filter, unknown: system.NewUnknowns(system.NewUnknownLimit()), recorded: new(recordedProcesses),
		warnedOfClocks: make(map[[2]int]bool),
	}
	for _, d := range datasets {
		if w := d.Warning(); w != "" {
			q.Warnings = append(q.Warnings, w)
		}
	}
	var err error
	if q.hosts, err = newClockHosts(ctx, datasets, q.warnOfDamage); err != nil {
		return nil, err
	}
	q.align(newRecordedClocks(q.hosts, nil))
	if q.homes, err = q.findHomes(ctx); err != nil {
		return nil, err
	}
	if err := q.warnOfLosses(ctx); err != nil {
		return nil, err
	}
	if q.loader, err = system.LoadEntities(ctx, datasets...); err != nil {
		return nil, err
	}
	q.Architecture = q.loader.Architecture()
	q.Warnings, q.Damaged = append(q.Warnings, q.Architecture.Warnings...), append(q.Damaged, q.Architecture.Damaged...)
	return q, nil
}

// Again prepares the same question once more, so that two can be asked side by side.
func (q *Query) Again(ctx context.Context) (*Query, error) {
	again, err := NewQuery(ctx, q.filter, q.datasets...)
	if err != nil {
		return nil, err
	}
	again.WindowRows = q.WindowRows
	again.align(q.alignment)
	return again, nil
}

// warnOfDamage takes damaged segments as warnings and returns any other error.
func (q *Query) warnOfDamage(err error) error {
	var damaged *trace.DamageError
	if !errors.As(err, &damaged) {
		return err
	}
	for _, segment := range damaged.Segments {
		if text := segment.Error(); !slices.Contains(q.Warnings, text) {
			q.Warnings, q.Damaged = append(q.Warnings, text), append(q.Damaged, segment)
		}
	}
	return nil
}

// besideMessages are the kinds of lost records that tell nothing of messages.
var besideMessages = []trace.LossKind{trace.LostProcess, trace.LostSimTime, trace.LostWait, trace.LostSched, trace.LostThread}

// warnOfLosses says when records are missing: what they told of seems not to have happened.
func (q *Query) warnOfLosses(ctx context.Context) error {
	for _, d := range q.datasets {
		var lost uint64
		unarmed, beside := 0, map[trace.LossKind]uint64{}
		err := trace.Scan(ctx, d, trace.TableLoss, func(rows []trace.Loss) error {
			for i := range rows {
				switch row := &rows[i]; {
				case row.Reason == trace.LossUnarmed:
					unarmed++
				case slices.Contains(besideMessages, row.Kind):
					beside[row.Kind] += row.Count
				default:
					lost += row.Count
				}
			}
			return nil
		})
		if err := q.warnOfDamage(err); err != nil {
			return err
		}
		if lost > 0 {
			q.Warnings = append(q.Warnings, fmt.Sprintf("%s: %d records were lost while recording: messages may seem lost that were received; `caret-bpf info` says when", d.Dir(), lost))
		}
		for _, kind := range besideMessages {
			if beside[kind] > 0 {
				q.Warnings = append(q.Warnings, fmt.Sprintf("%s: %d records of kind %s were lost while recording; `caret-bpf info` says when", d.Dir(), beside[kind], kind))
			}
		}
		if unarmed > 0 {
			q.Warnings = append(q.Warnings, fmt.Sprintf("%s: %d files were mapped by processes while they were not probed: what was done in them is missing, so messages may seem lost that were received; `caret-bpf info` lists them", d.Dir(), unarmed))
		}
	}
	return nil
}

// covers tells whether an instance that began at that time is asked for.
func (f *Filter) covers(begin int64) bool {
	return (!f.From.Valid || begin >= f.From.Value) && (!f.To.Valid || begin <= f.To.Value)
}

func matches(patterns []*regexp.Regexp, names ...string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		for _, name := range names {
			if at := p.FindStringIndex(name); name != "" && at != nil && at[0] == 0 && at[1] == len(name) {
				return true
			}
		}
	}
	return false
}

func (f *Filter) node(n *system.Node) bool {
	return matches(f.Nodes, n.Name) && f.process(n.Process.PID)
}

// process tells whether what a process did is asked for.
func (f *Filter) process(pid int32) bool {
	return len(f.Processes) == 0 || slices.Contains(f.Processes, pid)
}

func (f *Filter) callback(c *system.Callback) bool {
	return f.node(c.Node) && matches(f.Topics, c.TopicName, c.ServiceName) && f.named(c)
}

// communication tells whether the messages from a publisher to a subscription are asked for: the topic fits, and one of
// the nodes.
func (f *Filter) communication(p *system.Publisher, s *system.Subscription) bool {
	if !matches(f.Topics, s.TopicName) || !f.subscription(s) {
		return false
	}
	return f.node(s.Node) || p.Node != nil && f.node(p.Node)
}

// path tells whether a path is asked for: it leads over one of the topics, and through one of the nodes, of the
// processes and of the callbacks, which receive its messages or publish them.
func (f *Filter) path(p *system.Path) bool {
	fits := func(fit func(*system.NodePath) bool) bool {
		return slices.ContainsFunc(p.Nodes, func(n system.NodePath) bool { return fit(&n) })
	}
	return fits(func(n *system.NodePath) bool { return f.node(n.Node) }) &&
		fits(func(n *system.NodePath) bool {
			return n.Subscription != nil && matches(f.Topics, n.Subscription.TopicName) || n.Publisher != nil && matches(f.Topics, n.Publisher.TopicName)
		}) &&
		(len(f.Callbacks) == 0 || fits(func(n *system.NodePath) bool {
			return n.Subscription != nil && f.subscription(n.Subscription) || n.Publisher != nil && slices.ContainsFunc(n.Publisher.Callbacks, f.named)
		}))
}

// subscription tells whether a callback that gets the messages of a subscription, or polls them, is asked for.
func (f *Filter) subscription(s *system.Subscription) bool {
	return len(f.Callbacks) == 0 || s.Callback != nil && f.named(s.Callback) || slices.ContainsFunc(s.PolledBy, f.named)
}

// named tells whether the name or the symbol of a callback is asked for.
func (f *Filter) named(c *system.Callback) bool { return matches(f.Callbacks, c.Name, c.Symbol) }

// TimeSpan returns the span of what the datasets hold, on the clock of the first; ok is false where they hold no event.
func (q *Query) TimeSpan(ctx context.Context) (span trace.Span, ok bool, err error) {
	for _, d := range q.datasets {
		of, has, err := q.SpanOf(ctx, d)
		if err != nil {
			return trace.Span{}, false, err
		}
		if !has {
			continue
		}
		if !ok {
			span, ok = of, true
		}
		span.First, span.Last = min(span.First, of.First), max(span.Last, of.Last)
	}
	return span, ok, nil
}

// SpanOf is TimeSpan for one of the datasets.
func (q *Query) SpanOf(ctx context.Context, d *trace.Dataset) (span trace.Span, ok bool, err error) {
	span, ok, err = trace.TimeSpan(ctx, d)
	if err := q.warnOfDamage(err); err != nil || !ok {
		return trace.Span{}, false, err
	}
	clock := &q.clocks[slices.Index(q.datasets, d)]
	return trace.Span{First: clock.correct(span.First), Last: clock.correct(span.Last)}, true, nil
}

// Restrict bounds the begin of instances.
func (q *Query) Restrict(from, to trace.Optional[int64]) {
	q.filter.From, q.filter.To = from, to
}
