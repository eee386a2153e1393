package simulation

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// published is when it was published, by the first layer that was recorded.
func (m *message) published() int64 {
	r := m.publisher.node.process.recording
	for _, layer := range []int64{m.intra, m.rclcpp, m.rcl, m.rmw} {
		if r.sees(layer) {
			return r.common(layer)
		}
	}
	return 0
}

// hasSource tells whether its source timestamp was recorded.
func (m *message) hasSource() bool {
	p := m.publisher.node.process
	return m.rmw != 0 && p.recording.sees(m.written) && !p.hidesSources
}

// seen tells whether it was recorded that somebody got the message.
func (of *reception) seen() bool {
	return of != nil && !of.ignored && of.delivery.subscription.node.process.recording.sees(of.take)
}

// agreement is that of the clocks of a node and of who recorded something else. These recorders do not know how well
// clocks are synchronized.
func (n *node) agreement(other *recording) (of analyze.ClockAgreement) {
	if n.process.recording.bootID != other.bootID {
		of.ClockSource = analyze.ClockUnknown
	}
	return of
}

// asPolled tells whether it seems to have been polled: also what was taken for a callback that did not start any more.
func (of *reception) asPolled() bool {
	return of.polled || !of.delivery.subscription.node.process.recording.sees(of.execution.start)
}

// input is when the message became an input of its node.
func (of *reception) input() int64 {
	r := of.delivery.subscription.node.process.recording
	if of.asPolled() {
		return r.common(of.take)
	}
	return r.common(of.execution.start)
}

// expects tells whether the subscription was there, as far as is known, when the message was published.
func (sub *subscription) expects(m *message) bool {
	p := sub.node.process
	init, end := p.recording.commonIfSeen(p.born), p.recording.commonIfSeen(p.died)
	at := m.published()
	return (!init.Valid || init.Value <= at) && (!end.Valid || at < end.Value)
}

// isKnown tells whether the process was recorded.
func (p *process) isKnown() bool {
	return (p.died == 0 || p.died >= p.recording.begin) && p.born < p.recording.end
}

// communicationRows are those of every recorded message, once for each subscription of its topic.
func (t *truth) communicationRows() (rows []row) {
	t.eachMessage(func(m *message) {
		for _, sub := range t.topics[m.publisher.topic] {
			if !sub.node.process.isKnown() {
				continue
			}
			if sub.hasOf(m.publisher) {
				rows = append(rows, t.bufferedRows(m, sub)...)
			} else {
				rows = append(rows, t.middlewareRows(m, sub)...)
			}
		}
	})
	return rows
}

// middlewareRows are none, or that of a message that went through the middleware.
func (t *truth) middlewareRows(m *message, sub *subscription) []row {
	r := m.publisher.node.process.recording
	d := m.deliveries[sub]
	of := t.instance(m, sub, analyze.InterProcess)
	switch {
	case !r.sees(m.rcl) && !r.sees(m.rmw) && !m.hasSource():
		return nil
	case !m.hasSource():
		of.Fate = analyze.Unknown
	case d != nil && d.reception.seen():
		of.receive(d.reception)
		of.JoinedBy = analyze.JoinedByTopic
		if d.reception.gid() != "" && !m.publisher.hidden {
			of.JoinedBy = analyze.JoinedByGID
		}
		return []row{{text: of.text()}}
	case sub.gotAfter(m):
		of.Fate = analyze.Lost
	default:
		of.Fate = analyze.Open
	}
	if !sub.expects(m) {
		return nil
	}
	return []row{{text: of.text()}}
}

// gotAfter tells whether the subscription has got a message of the publisher with a later source timestamp.
func (sub *subscription) gotAfter(m *message) bool {
	for _, of := range sub.received {
		other := of.delivery.message
		if of.seen() && other.publisher == m.publisher && other.numbered && other.hasSource() && other.source > m.source {
			return true
		}
	}
	return false
}

// bufferedRows are none, or that of a message that went through a buffer.
func (t *truth) bufferedRows(m *message, sub *subscription) []row {
	d, r := m.deliveries[sub], m.publisher.node.process.recording
	if d == nil || !r.sees(d.enqueued) || !m.numbered {
		return nil
	}
	of := t.instance(m, sub, analyze.IntraProcess)
	of.RclcppRingBufferQueue = r.commonIfSeen(d.enqueued)
	of.Fate = analyze.Open
	switch {
	case d.reception.seen():
		of.receive(d.reception)
		of.JoinedBy = analyze.JoinedByBuffer
	case d.overwritten:
		of.Fate = analyze.Lost
	}
	fate := row{text: of.text()}
	if sub.ring.leavesOpen(d, r) {
		unknown := t.instance(m, sub, analyze.IntraProcess)
		unknown.RclcppRingBufferQueue, unknown.Fate = of.RclcppRingBufferQueue, analyze.Unknown
		fate.other = unknown.text()
		fate.told = func(text string) { t.untold[d] = text == fate.other }
	}
	return []row{fate}
}

type communication struct{ analyze.CommunicationInstance }

func (of *communication) text() string { return fmt.Sprintf("%+v", of.CommunicationInstance) }

// instance is a row without what became of the message.
func (t *truth) instance(m *message, sub *subscription, transport analyze.Transport) *communication {
	n, r := m.publisher.node, m.publisher.node.process.recording
	of := analyze.CommunicationInstance{
		CommunicationLabel: analyze.CommunicationLabel{
			Topic: sub.topic, PublisherNode: n.name, PublisherPID: n.process.key.PID, SubscriptionNode: sub.node.name, SubscriptionPID: sub.node.process.key.PID,
			Transport: transport,
		},
		RclcppIntraPublish: r.commonIfSeen(m.intra), RclcppPublish: r.commonIfSeen(m.rclcpp), RclPublish: r.commonIfSeen(m.rcl),
		RMWPublish: r.commonIfSeen(m.rmw), DDSBindAddrToStamp: r.commonIfSeen(m.written),
	}
	if m.hasSource() {
		of.SourceTimestamp = trace.Some(m.source)
	}
	return &communication{of}
}

// receive completes a row with the reception.
func (of *communication) receive(got *reception) {
	r := got.delivery.subscription.node.process.recording
	of.Fate, of.Take = analyze.Received, r.commonIfSeen(got.take)
	if !got.asPolled() {
		of.CallbackStartTimestamp = r.commonIfSeen(got.execution.start)
	}
	of.Latency = trace.Some(got.input() - got.delivery.message.published())
	of.ClockAgreement = got.delivery.message.publisher.node.agreement(r)
}
