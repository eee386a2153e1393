package oracle

import (
	"cmp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hitPassage is what became of one message on its way to one subscription.
type hitPassage struct {
	publish  *hitPublish
	to       *hitSubscription
	fate     analyze.Fate
	received *hitReception // of a received one
	enqueued trace.Optional[int64]
}

// passages finds out which message arrived where: through the middleware by topic and source timestamp, which no two
// publishes of a recording may share, and through buffers by the slot.
func (h *hits) passages(t *testing.T) []hitPassage {
	t.Helper()
	type written struct {
		topic  string
		source int64
	}
	publishes := map[written]*hitPublish{}
	for _, p := range h.publishes {
		if of := (written{p.publisher.TopicName, p.source.Value}); p.source.Valid {
			if publishes[of] != nil {
				t.Errorf("two publishes on %s have source timestamp %d", of.topic, of.source)
			}
			publishes[of] = p
		}
	}
	type transit struct {
		publish *hitPublish
		to      *hitSubscription
	}
	type route struct {
		publisher *hitPublisher
		to        *hitSubscription
	}
	received, last := map[transit]*hitReception{}, map[route]int64{}
	for _, r := range h.receptions {
		p := publishes[written{r.subscription.TopicName, r.source.Value}]
		if p == nil || !r.source.Valid {
			continue
		}
		if of := (transit{p, r.subscription}); received[of] == nil {
			received[of], r.from = r, p
			last[route{p.publisher, r.subscription}] = max(last[route{p.publisher, r.subscription}], p.source.Value)
		}
	}
	var all []hitPassage
	for _, p := range h.publishes {
		for _, s := range h.subscriptions {
			buffered := p.intra.Valid && s.buffer != 0 && s.PID == p.publisher.PID
			if s.TopicName != p.publisher.TopicName || buffered || !p.rcl.Valid {
				continue
			}
			of := hitPassage{publish: p, to: s, received: received[transit{p, s}], fate: analyze.Open}
			switch {
			case of.received != nil:
				of.fate = analyze.Received
			case s.InitTimestamp.Valid && p.at() < s.InitTimestamp.Value || s.EndTimestamp.Valid && p.at() >= s.EndTimestamp.Value:
				continue
			case !p.source.Valid:
				of.fate = analyze.Unknown
			case last[route{p.publisher, s}] > p.source.Value:
				of.fate = analyze.Lost
			}
			all = append(all, of)
		}
	}
	return append(all, h.bufferedPassages()...)
}

// bufferedPassages follows what each slot of each buffer held.
func (h *hits) bufferedPassages() []hitPassage {
	type slot struct {
		buffer *hitSubscription
		index  uint64
	}
	type operation struct {
		at       int64
		enqueue  *hitEnqueue
		received *hitReception
	}
	operations := map[slot][]operation{}
	for _, e := range h.enqueues {
		of := slot{e.subscription, e.slot}
		operations[of] = append(operations[of], operation{e.at, e, nil})
	}
	for _, r := range h.receptions {
		if of := (slot{r.subscription, r.slot.Value}); r.slot.Valid {
			operations[of] = append(operations[of], operation{r.at, nil, r})
		}
	}
	var all []hitPassage
	for of, list := range operations {
		slices.SortStableFunc(list, func(a, b operation) int { return cmp.Compare(a.at, b.at) })
		for i, o := range list {
			if o.enqueue == nil || o.enqueue.publish == nil || o.enqueue.publish.publisher == nil {
				continue
			}
			p := hitPassage{publish: o.enqueue.publish, to: of.buffer, fate: analyze.Open, enqueued: trace.Some(o.at)}
			if i+1 < len(list) {
				if p.fate, p.received = analyze.Lost, list[i+1].received; p.received != nil {
					p.fate, p.received.from = analyze.Received, p.publish
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// hitLink is one output of a node with its input, or an input that led to nothing.
type hitLink struct {
	input  *hitReception
	output *hitPublish // nil if there is none
}

// hitPair is a subscription and a publisher of a node.
type hitPair struct {
	subscription *hitSubscription
	publisher    *hitPublisher
}

// links joins each publish with the newest message, by subscription, that its callback had got. Pairs are those of
// which a callback got messages of the one, ever, and published with the other, ever.
func (h *hits) links() map[hitPair][]hitLink {
	type user struct {
		callback *hitCallback
		node     trace.Address
	}
	inputs, outputs := map[user]map[*hitSubscription]bool{}, map[user]map[*hitPublisher]bool{}
	for _, s := range h.subscriptions {
		if s.callback != nil {
			note(inputs, user{s.callback, s.NodeHandle}, s)
		}
	}
	for _, r := range h.receptions {
		if r.in != nil {
			note(inputs, user{r.in.callback, r.subscription.NodeHandle}, r.subscription)
		}
	}
	for _, p := range h.publishes {
		if p.in != nil {
			note(outputs, user{p.in.callback, p.publisher.NodeHandle}, p.publisher)
		}
	}
	links := map[hitPair][]hitLink{}
	for of, subscriptions := range inputs {
		for s := range subscriptions {
			for p := range outputs[of] {
				links[hitPair{s, p}] = nil
			}
		}
	}
	used := map[hitPair]map[*hitReception]bool{}
	for of := range links {
		used[of] = map[*hitReception]bool{}
		for _, p := range h.publishes {
			if p.publisher != of.publisher || p.in == nil {
				continue
			}
			var newest *hitReception
			for _, r := range p.in.received {
				if r.subscription == of.subscription && r.input() <= p.at() && (newest == nil || r.input() > newest.input()) {
					newest = r
				}
			}
			if newest != nil {
				used[of][newest] = true
				links[of] = append(links[of], hitLink{newest, p})
			}
		}
		for _, r := range h.receptions {
			if r.subscription == of.subscription && !used[of][r] {
				links[of] = append(links[of], hitLink{r, nil})
			}
		}
	}
	return links
}

func note[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][value] = true
}
