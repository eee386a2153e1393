package analyze

import (
	"cmp"
	"context"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// sentColumns tell of messages that were published.
type sentColumns struct {
	trace.ProcessKey
	PublisherHandle trace.Address         `column:"publisher_handle,null"`
	Intra           trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp          trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl             trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW             trace.Optional[int64] `column:"rmw_publish_timestamp"`
	Source          trace.Optional[int64] `column:"source_timestamp"`
	TopicName       string                `column:"topic_name,null"`
}

// startedColumns tell of messages that started callbacks, and polledColumns of those that were polled.
type startedColumns struct {
	trace.ProcessKey
	Callback           trace.Address         `column:"callback"`
	SubscriptionHandle trace.Address         `column:"subscription_handle,null"`
	Start              trace.Optional[int64] `column:"callback_start_timestamp"`
	Source             trace.Optional[int64] `column:"source_timestamp"`
	Take               trace.Optional[int64] `column:"rmw_take_timestamp"`
	PublisherGID       string                `column:"publisher_gid,null"`
	TopicName          string                `column:"topic_name,null"`
}

type polledColumns struct {
	trace.ProcessKey
	SubscriptionHandle trace.Address         `column:"subscription_handle,null"`
	Source             trace.Optional[int64] `column:"source_timestamp"`
	Take               trace.Optional[int64] `column:"rmw_take_timestamp"`
	PublisherGID       string                `column:"publisher_gid,null"`
	TopicName          string                `column:"topic_name,null"`
}

// evidenceReading reads what messages, requests and responses tell of the clocks of hosts. It needs no order of time,
// which is not known yet: what was sent is read first, and then what arrived.
type evidenceReading struct {
	query         *Query
	publishers    system.LivesAt[*system.Publisher]
	callbacks     system.LivesAt[*system.Callback]
	subscriptions system.LivesAt[*system.Subscription]
	services      *serviceNames
	damaged       scan.Damages
	progress      *scan.Progress

	mu       sync.Mutex // of what follows
	sent     *sentMessages
	evidence clockEvidence
}

// readEvidence reads it of all messages, whatever a question is about.
func (q *Query) readEvidence(ctx context.Context) (clockEvidence, error) {
	index := q.Architecture.Index()
	r := &evidenceReading{
		query: q, publishers: index.Publishers, callbacks: index.Callbacks, subscriptions: index.Subscriptions,
		services: newServiceNames(q.Architecture), sent: newSentMessages(mostSent), evidence: make(clockEvidence),
	}
	var lists [4][]tableGroup
	for i, of := range []struct {
		table string
		times []string
	}{
		{trace.TablePublish, scan.PublishTimes}, {trace.TableService, []string{"step_timestamp"}},
		{trace.TableCallback, []string{"callback_start_timestamp"}}, {trace.TableTake, []string{"rmw_take_timestamp"}},
	} {
		var err error
		if lists[i], err = q.tableGroups(ctx, of.table, of.times, nil, nil); err != nil {
			return nil, err
		}
	}
	r.progress = q.newProgress(lists[0], lists[1], lists[1], lists[2], lists[3])
	for _, read := range []func() error{
		func() error { return readForEvidence(ctx, r, trace.TablePublish, lists[0], r.publish) },
		func() error { return readForEvidence(ctx, r, trace.TableService, lists[1], r.send) },
		func() error { return readForEvidence(ctx, r, trace.TableCallback, lists[2], r.start) },
		func() error { return readForEvidence(ctx, r, trace.TableTake, lists[3], r.poll) },
		func() error { return readForEvidence(ctx, r, trace.TableService, lists[1], r.take) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return r.evidence, q.warnOfDamage(r.damaged.Err())
}

// readForEvidence passes the rows of groups on, one batch after the other.
func readForEvidence[R any](ctx context.Context, r *evidenceReading, table string, groups []tableGroup, each func(row *R, dataset int)) error {
	return scan.InParallel(ctx, len(groups), func(ctx context.Context, _, i int) error {
		g := groups[i]
		err := trace.ScanGroup(ctx, table, g.Group, nil, func(rows []R) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			for i := range rows {
				each(&rows[i], g.dataset)
			}
			return nil
		})
		r.progress.Add(g.Rows())
		return r.damaged.Add(err)
	})
}

// hostTime is a dataset's time by the clock of its host.
func (r *evidenceReading) hostTime(dataset int, at int64) int64 {
	return at + r.query.hosts.constants[dataset]
}

// publish notes when a message was sent: when the last layer had it for certain not yet passed on.
func (r *evidenceReading) publish(row *sentColumns, dataset int) {
	at := int64(noTime)
	for _, layer := range []trace.Optional[int64]{row.Intra, row.Rclcpp, row.Rcl, row.RMW} {
		at = max(at, orNoTime(layer))
	}
	if !row.Source.Valid || at == noTime {
		return
	}
	topic, gid := row.TopicName, ""
	if p := r.publishers.Find(row.ProcessKey, row.PublisherHandle, scan.FirstTime(row.Intra, row.Rclcpp, row.Rcl, row.RMW)); p != nil && p.TopicName != "" {
		topic, gid = p.TopicName, p.GID
	}
	r.sent.add(messageKey{of: topic, number: row.Source.Value}, sentMessage{
		host: r.query.hosts.of[dataset], at: r.hostTime(dataset, at), gid: gid, by: system.Place{Process: row.ProcessKey, Address: row.PublisherHandle},
	})
}

func (r *evidenceReading) start(row *startedColumns, dataset int) {
	at := row.Take
	if !at.Valid {
		at = row.Start
	}
	if !at.Valid || !row.Source.Valid {
		return
	}
	topic := row.TopicName
	raw := at.Value
	if row.Start.Valid {
		raw = row.Start.Value
	}
	if c := r.callbacks.Find(row.ProcessKey, row.Callback, raw); c != nil && c.TopicName != "" {
		topic = c.TopicName
	} else if s := r.subscriptions.Find(row.ProcessKey, row.SubscriptionHandle, raw); s != nil && s.TopicName != "" {
		topic = s.TopicName
	}
	r.arrive(messageKey{of: topic, number: row.Source.Value}, row.PublisherGID, dataset, at.Value)
}

func (r *evidenceReading) poll(row *polledColumns, dataset int) {
	if !row.Take.Valid || !row.Source.Valid {
		return
	}
	topic := row.TopicName
	if s := r.subscriptions.Find(row.ProcessKey, row.SubscriptionHandle, row.Take.Value); s != nil && s.TopicName != "" {
		topic = s.TopicName
	}
	r.arrive(messageKey{of: topic, number: row.Source.Value}, row.PublisherGID, dataset, row.Take.Value)
}

// send notes when a request or a response was sent.
func (r *evidenceReading) send(row *serviceColumns, dataset int) {
	if key, ok := r.callKey(row, trace.RequestSent, trace.ResponseSent); ok {
		r.sent.add(key, sentMessage{
			host: r.query.hosts.of[dataset], at: r.hostTime(dataset, row.StepTimestamp), gid: row.ClientGID,
			by: system.Place{Process: row.ProcessKey, Address: cmp.Or(row.ClientHandle, row.ServiceHandle)},
		})
	}
}

func (r *evidenceReading) take(row *serviceColumns, dataset int) {
	if key, ok := r.callKey(row, trace.RequestTaken, trace.ResponseTaken); ok {
		r.arrive(key, row.ClientGID, dataset, row.StepTimestamp)
	}
}

// callKey identifies what one of two steps sends or takes: a request, or a response.
func (r *evidenceReading) callKey(row *serviceColumns, request, response trace.ServiceStep) (messageKey, bool) {
	if row.ClientGID == "" || row.Step != request && row.Step != response {
		return messageKey{}, false
	}
	r.services.complete(row)
	key := messageKey{of: row.ServiceName, call: requestOf, client: row.ClientGID, number: row.SequenceNumber}
	if row.Step == response {
		key.call = responseTo
	}
	return key, true
}

// arrive adds a message to the evidence if it came from another host.
func (r *evidenceReading) arrive(key messageKey, gid string, dataset int, at int64) {
	host := r.query.hosts.of[dataset]
	if sent, ok := r.sent.find(key, gid); ok && sent.host != host {
		r.evidence.add(sent.host, host, sent.at, r.hostTime(dataset, at))
	}
}
