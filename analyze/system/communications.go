package system

import (
	"cmp"
	"slices"
	"sort"
)

// maxCommunications bounds the communications of an architecture, of which there may be as many as pairs of entities:
// that many take 500 MB. A system of 300 nodes has 90,000 of /parameter_events, and may begin anew a hundred times.
const maxCommunications = 10_000_000

// connect finds the communications: every publisher of a topic reaches every subscription of it that lived at the same
// time. It returns false when there are more than so many, and leaves out what is beyond.
func (a *Architecture) connect(limit int) (complete bool) {
	topics := make(map[string]*audience)
	for _, n := range a.Nodes {
		for _, s := range n.Subscriptions {
			if s.TopicName == "" {
				continue
			}
			if topics[s.TopicName] == nil {
				topics[s.TopicName] = new(audience)
			}
			topics[s.TopicName].subscriptions = append(topics[s.TopicName].subscriptions, s)
		}
	}
	for _, of := range topics {
		of.arrange()
	}
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			of := topics[p.TopicName]
			if of == nil {
				continue
			}
			for _, i := range of.during(p.Life, limit-len(a.Communications)+1) {
				if len(a.Communications) == limit {
					return false
				}
				a.Communications = append(a.Communications, &Communication{TopicName: p.TopicName, Publisher: p, Subscription: of.subscriptions[i]})
			}
		}
	}
	return true
}

// audience finds which subscriptions of a topic live at the same time as a publisher, without looking at the others.
type audience struct {
	subscriptions []*Subscription
	spans         []livedSpan    // of the subscriptions, by their begin
	lasts         maxTree[int64] // the last times of spans
	found         []int32
}

func (x *audience) arrange() {
	x.spans = make([]livedSpan, len(x.subscriptions))
	for i, s := range x.subscriptions {
		x.spans[i] = livedSpan{s.Life.first(), s.Life.last(), int32(i)}
	}
	slices.SortFunc(x.spans, func(a, b livedSpan) int { return cmp.Compare(a.first, b.first) })
	x.lasts = newMaxTree(len(x.spans), func(i int) int64 { return x.spans[i].last })
}

// during returns at most so many of those that live during a life, in the order of subscriptions.
func (x *audience) during(life Life, most int) []int32 {
	x.found = x.found[:0]
	end := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].first > life.last() })
	x.lasts.cover(0, end, func(element int) { x.collect(element, life.first(), most) })
	slices.Sort(x.found)
	return x.found
}

// collect adds what lives until a time or longer, of those below an element of the tree.
func (x *audience) collect(element int, until int64, most int) {
	switch n := len(x.spans); {
	case x.lasts[element] < until, len(x.found) >= most:
	case element >= n:
		x.found = append(x.found, x.spans[element-n].number)
	default:
		x.collect(2*element, until, most)
		x.collect(2*element+1, until, most)
	}
}
