package system

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// publishedColumns are the columns of publish that tell which callback published with which publisher.
type publishedColumns struct {
	trace.ProcessKey
	PublisherHandle trace.Address `column:"publisher_handle,null"`
	Callback        trace.Address `column:"callback,null"`
}

// timedPublishColumns tell besides when that was.
type timedPublishColumns struct {
	publishedColumns
	Intra                  trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp                 trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl                    trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW                    trace.Optional[int64] `column:"rmw_publish_timestamp"`
	CallbackStartTimestamp trace.Optional[int64] `column:"callback_start_timestamp"`
}

// pollColumns are the columns of take that tell which callback took from which subscription.
type pollColumns struct {
	trace.ProcessKey
	Kind                   trace.TakeKind        `column:"kind"`
	SubscriptionHandle     trace.Address         `column:"subscription_handle,null"`
	Buffer                 trace.Address         `column:"buffer,null"`
	Callback               trace.Address         `column:"callback,null"`
	CallbackStartTimestamp trace.Optional[int64] `column:"callback_start_timestamp"`
}

// LoadActivity finds out what callbacks publish and poll, and which publishers reach which subscriptions. It is for one
// call. report, which may be nil, is called as that of Load.
func (l *Loader) LoadActivity(ctx context.Context, report func(read, total int64), datasets ...*trace.Dataset) error {
	if err := l.readActivity(ctx, report, datasets...); err != nil {
		return err
	}
	l.finish()
	return nil
}

// readActivity counts what callbacks publish and poll, on all cores. Its memory grows with the pairs, not with the
// rows.
func (l *Loader) readActivity(ctx context.Context, report func(read, total int64), datasets ...*trace.Dataset) error {
	type readGroup func(*activity, context.Context, *trace.Group) error
	type reading struct {
		*trace.Group
		read readGroup
	}
	var groups []reading
	progress := scan.Progress{Report: report}
	for _, d := range datasets {
		for _, table := range []struct {
			name string
			read readGroup
		}{{trace.TablePublish, (*activity).readPublishes}, {trace.TableTake, (*activity).readPolls}} {
			of, err := trace.Groups(ctx, d, table.name)
			if err := l.warnOfDamage(err); err != nil {
				return fmt.Errorf("read what callbacks of %s did: %w", d.Dir(), err)
			}
			for _, g := range of {
				groups = append(groups, reading{g, table.read})
				progress.Total += g.Rows()
			}
		}
	}
	activities := make([]*activity, scan.MaxWorkers())
	for i := range activities {
		activities[i] = newActivity(l.result.index)
	}
	var damaged scan.Damages
	if err := scan.InParallel(ctx, len(groups), func(ctx context.Context, worker, i int) error {
		err := damaged.Add(groups[i].read(activities[worker], ctx, groups[i].Group))
		progress.Add(groups[i].Rows())
		return err
	}); err != nil {
		return err
	}
	for _, a := range activities {
		for in, count := range a.publishes {
			l.publishes[in] += count
		}
		for in, count := range a.polls {
			l.polls[in] += count
		}
	}
	return l.warnOfDamage(damaged.Err())
}

// activity is what callbacks did in the groups that one goroutine reads.
type activity struct {
	index     *Index
	publishes map[publishedIn]uint64
	polls     map[polledIn]uint64
}

func newActivity(index *Index) *activity {
	return &activity{index: index, publishes: make(map[publishedIn]uint64), polls: make(map[polledIn]uint64)}
}

// readPublishes counts the publishes of a group. The times of its rows are read only where an address changed hands in
// its span.
func (a *activity) readPublishes(ctx context.Context, g *trace.Group) error {
	counts := make(map[publishedColumns]uint64)
	err := trace.Distinct(ctx, trace.TablePublish, g, func(row *publishedColumns, rows uint64) { counts[*row] = rows })
	if span, ok := scan.SpanOf(g, append([]string{"callback_start_timestamp"}, scan.PublishTimes...)); !ok || !a.addPublishes(counts, span) {
		return a.readTimedPublishes(ctx, g)
	}
	return err
}

// addPublishes adds what was published in a span. It adds nothing and returns false where it depends on the time whose
// an address was.
func (a *activity) addPublishes(counts map[publishedColumns]uint64, span trace.Span) bool {
	found := make(map[publishedIn]uint64, len(counts))
	for row, count := range counts {
		p, sure := a.index.Publishers[Place{row.ProcessKey, row.PublisherHandle}].during(span)
		c, sureToo := a.index.Callbacks[Place{row.ProcessKey, row.Callback}].during(span)
		if !sure || !sureToo {
			return false
		}
		if p != nil && (c != nil || row.Callback == 0) {
			found[publishedIn{c, p}] += count
		}
	}
	for in, count := range found {
		a.publishes[in] += count
	}
	return true
}

func (a *activity) readTimedPublishes(ctx context.Context, g *trace.Group) error {
	callbacks, publishers := NewLookup(a.index.Callbacks), NewLookup(a.index.Publishers)
	return trace.ScanGroup(ctx, trace.TablePublish, g, nil, func(rows []timedPublishColumns) error {
		for i := range rows {
			row := &rows[i]
			at := scan.FirstTime(row.CallbackStartTimestamp, row.Intra, row.Rclcpp, row.Rcl, row.RMW)
			p := publishers.Find(&row.ProcessKey, row.PublisherHandle, at)
			c := callbacks.Find(&row.ProcessKey, row.Callback, at)
			if p != nil && (c != nil || row.Callback == 0) {
				a.publishes[publishedIn{c, p}]++
			}
		}
		return nil
	})
}

func (a *activity) readPolls(ctx context.Context, g *trace.Group) error {
	callbacks, subscriptions, buffers := NewLookup(a.index.Callbacks), NewLookup(a.index.Subscriptions), NewLookup(a.index.Buffers)
	return trace.ScanGroup(ctx, trace.TableTake, g, nil, func(rows []pollColumns) error {
		for i := range rows {
			row := &rows[i]
			if row.Kind == trace.TakeIgnored || row.Kind == trace.TakeUnattributed {
				continue
			}
			at := row.CallbackStartTimestamp.Value
			s := cmp.Or(subscriptions.Find(&row.ProcessKey, row.SubscriptionHandle, at), buffers.Find(&row.ProcessKey, row.Buffer, at))
			if c := callbacks.Find(&row.ProcessKey, row.Callback, at); c != nil && s != nil {
				a.polls[polledIn{c, s}]++
			}
		}
		return nil
	})
}

// finish links callbacks with what they publish and poll, and publishers with subscriptions.
func (l *Loader) finish() {
	for in, count := range l.publishes {
		if in.callback == nil {
			in.publisher.OutsideCallbacks += count
			continue
		}
		in.callback.Publishes = append(in.callback.Publishes, CallbackPublish{in.publisher, count})
		in.publisher.Callbacks = append(in.publisher.Callbacks, in.callback)
	}
	for in, count := range l.polls {
		in.callback.Polls = append(in.callback.Polls, CallbackPoll{in.subscription, count})
		in.subscription.PolledBy = append(in.subscription.PolledBy, in.callback)
	}
	for _, n := range l.result.Nodes {
		for _, c := range n.Callbacks {
			slices.SortFunc(c.Publishes, func(x, y CallbackPublish) int {
				return cmp.Or(cmp.Compare(x.Publisher.TopicName, y.Publisher.TopicName), cmp.Compare(x.Publisher.ConstructionOrder, y.Publisher.ConstructionOrder))
			})
			slices.SortFunc(c.Polls, func(x, y CallbackPoll) int {
				return cmp.Or(cmp.Compare(x.Subscription.TopicName, y.Subscription.TopicName), cmp.Compare(x.Subscription.ConstructionOrder, y.Subscription.ConstructionOrder))
			})
		}
		for _, p := range n.Publishers {
			slices.SortFunc(p.Callbacks, compareCallbacks)
		}
		for _, s := range n.Subscriptions {
			slices.SortFunc(s.PolledBy, compareCallbacks)
		}
	}
	if !l.result.connect(maxCommunications) {
		l.warn(fmt.Sprintf("of the pairs of publishers and subscriptions that communicate only %d are known: record for a shorter time, or fewer processes", maxCommunications))
	}
}

// compareCallbacks is the order of their nodes and in their nodes.
func compareCallbacks(a, b *Callback) int {
	if a.Node != b.Node {
		return cmp.Or(cmp.Compare(a.Node.Name, b.Node.Name), CompareProcesses(a.Node.Process, b.Node.Process))
	}
	return cmp.Compare(a.position, b.position)
}
