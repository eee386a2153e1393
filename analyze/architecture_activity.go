package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// publishColumns are the columns of publish that tell which callback published with which publisher.
type publishColumns struct {
	trace.ProcessKey
	PublisherHandle        trace.Address         `column:"publisher_handle,null"`
	Intra                  trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp                 trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl                    trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW                    trace.Optional[int64] `column:"rmw_publish_timestamp"`
	Callback               trace.Address         `column:"callback,null"`
	CallbackStartTimestamp trace.Optional[int64] `column:"callback_start_timestamp"`
}

// pollColumns are the columns of take that tell which callback took from which subscription.
type pollColumns struct {
	trace.ProcessKey
	SubscriptionHandle     trace.Address         `column:"subscription_handle,null"`
	Buffer                 trace.Address         `column:"buffer,null"`
	Callback               trace.Address         `column:"callback,null"`
	CallbackStartTimestamp trace.Optional[int64] `column:"callback_start_timestamp"`
}

// readActivity counts what callbacks publish and poll. Its memory grows with the pairs, not with the rows.
func (l *architectureLoader) readActivity(ctx context.Context, d *trace.Dataset) error {
	index := l.result.index
	callbacks, publishers := newLookup(index.callbacks), newLookup(index.publishers)
	subscriptions, buffers := newLookup(index.subscriptions), newLookup(index.buffers)
	err := trace.Scan(ctx, d, trace.TablePublish, func(rows []publishColumns) error {
		for i := range rows {
			row := &rows[i]
			at := firstTime(row.CallbackStartTimestamp, row.Intra, row.Rclcpp, row.Rcl, row.RMW)
			p := publishers.find(&row.ProcessKey, row.PublisherHandle, at)
			c := callbacks.find(&row.ProcessKey, row.Callback, at)
			if p != nil && (c != nil || row.Callback == 0) {
				l.publishes[publishedIn{c, p}]++
			}
		}
		return nil
	})
	if err := l.warnOfDamage(err); err != nil {
		return err
	}
	err = trace.Scan(ctx, d, trace.TableTake, func(rows []pollColumns) error {
		for i := range rows {
			row := &rows[i]
			at := row.CallbackStartTimestamp.Value
			s := cmp.Or(subscriptions.find(&row.ProcessKey, row.SubscriptionHandle, at), buffers.find(&row.ProcessKey, row.Buffer, at))
			if c := callbacks.find(&row.ProcessKey, row.Callback, at); c != nil && s != nil {
				l.polls[polledIn{c, s}]++
			}
		}
		return nil
	})
	return l.warnOfDamage(err)
}

// firstTime returns the first of the times that is known, 0 where none is.
func firstTime(times ...trace.Optional[int64]) int64 {
	for _, t := range times {
		if t.Valid {
			return t.Value
		}
	}
	return 0
}

// finish links callbacks with what they publish and poll, and publishers with subscriptions.
func (l *architectureLoader) finish() {
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
	l.result.connect()
}

// compareCallbacks is the order of their nodes and in their nodes.
func compareCallbacks(a, b *Callback) int {
	if a.Node != b.Node {
		return cmp.Or(cmp.Compare(a.Node.Name, b.Node.Name), compareProcesses(a.Node.Process, b.Node.Process))
	}
	return cmp.Compare(slices.Index(a.Node.Callbacks, a), slices.Index(b.Node.Callbacks, b))
}

// connect finds the communications: every publisher of a topic reaches every subscription of it that lived at the same time.
func (a *Architecture) connect() {
	subscriptions := make(map[string][]*Subscription)
	for _, n := range a.Nodes {
		for _, s := range n.Subscriptions {
			if s.TopicName != "" {
				subscriptions[s.TopicName] = append(subscriptions[s.TopicName], s)
			}
		}
	}
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			for _, s := range subscriptions[p.TopicName] {
				if p.Life.overlaps(s.Life) {
					a.Communications = append(a.Communications, &Communication{TopicName: p.TopicName, Publisher: p, Subscription: s})
				}
			}
		}
	}
}
