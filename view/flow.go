package view

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// shownMessages is the number of messages of a flow that are shown at most.
const shownMessages = 1500

// messageFlow are the ways of messages that set out on a path in a time, of those that came all the way and of those
// that did not.
type messageFlow struct {
	// Columns names the node or topic at whose end a message is at each of its times; the first is what the path begins
	// with.
	Columns  []string      `json:"columns"`
	Messages []flowMessage `json:"messages"`
	// MessagesTotal is how many messages there are. Ways is how many ways they took: a message may be on several. Fates
	// are those of the ways. Shown is how many of them are in Messages, DroppedShown how many of these were lost or not
	// used.
	MessagesTotal int                  `json:"messagesTotal"`
	Ways          int                  `json:"ways"`
	Fates         map[analyze.Fate]int `json:"fates"`
	Shown         int                  `json:"shown"`
	DroppedShown  int                  `json:"droppedShown"`
}

// flowMessage has the times that a message has passed, in the order of Columns, and what became of it then.
type flowMessage struct {
	Times []int64      `json:"times"`
	Fate  analyze.Fate `json:"fate"`
	// again: it is the way of a message that another way has, too.
	again bool
}

// isDropped tells whether a message was lost or not used.
func (m *flowMessage) isDropped() bool { return m.Fate == analyze.Lost || m.Fate == analyze.Unused }

func (v *View) flow(ctx context.Context, text string, from, to int64) (*messageFlow, error) {
	window := flowSpan{From: v.since(from), To: v.since(to)}
	all, err := v.flowsOf(ctx, map[string][]flowSpan{text: {window}}, from, to)
	if err != nil {
		return nil, err
	}
	for _, flows := range all { // paths of one text are called the same
		return flows[0], nil
	}
	return nil, fmt.Errorf("%w: path %s", system.ErrNoSuchName, text)
}

// flowsOf returns the flows of paths in windows of a time: for each window of a path one, by what the path is called.
// It keeps what is shown of each.
func (v *View) flowsOf(ctx context.Context, windows map[string][]flowSpan, from, to int64) (map[string][]*messageFlow, error) {
	filter := v.options.Filter
	filter.From, filter.To = trace.Some(from), trace.Some(to)
	all := make(map[string][]*messageFlow)
	err := v.withActivityOf(ctx, filter, func(q *analyze.Query) error {
		paths, err := v.options.Paths.Find(ctx, q, slices.Sorted(maps.Keys(windows)), "", "")
		if err != nil {
			return err
		}
		gathered, columns := make(map[string][]*gatheredFlow), make(map[string][]string)
		for _, p := range paths {
			text := textOf(p)
			if columns[text] != nil {
				continue
			}
			columns[text] = []string{beginOf(p)}
			for _, window := range windows[text] {
				gathered[text] = append(gathered[text], newGatheredFlow(window))
			}
		}
		hops, err := q.PathFlows(ctx, paths, v.options.Paths.Options(), func(flows []analyze.PathFlow) error {
			for i := range flows {
				f := &flows[i]
				for at := range f.Times {
					f.Times[at] = v.since(f.Times[at])
				}
				for _, flow := range gathered[f.Path] {
					flow.add(&flowMessage{f.Times, f.Fate, f.Again})
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := range hops {
			if of := columns[hops[i].Path]; hops[i].Hop == len(of) {
				columns[hops[i].Path] = append(of, hops[i].Name)
			}
		}
		for text, flows := range gathered {
			for _, flow := range flows {
				all[text] = append(all[text], flow.shown(columns[text]))
			}
		}
		return nil
	})
	return all, err
}

// gatheredFlow are the messages that set out on a path in a window, both ends included. It keeps those that are shown.
type gatheredFlow struct {
	window          flowSpan
	counted         messageFlow
	dropped, others sample[flowMessage]
}

func newGatheredFlow(window flowSpan) *gatheredFlow {
	return &gatheredFlow{
		window: window, counted: messageFlow{Fates: make(map[analyze.Fate]int)},
		dropped: sample[flowMessage]{most: shownMessages}, others: sample[flowMessage]{most: shownMessages},
	}
}

func (g *gatheredFlow) add(m *flowMessage) {
	if m.Times[0] < g.window.From || m.Times[0] > g.window.To {
		return
	}
	g.counted.Ways++
	g.counted.Fates[m.Fate]++
	if !m.again {
		g.counted.MessagesTotal++
	}
	// By its times: messages come in no certain order.
	rank := scattered(uint64(m.Times[0]) ^ scattered(uint64(m.Times[len(m.Times)-1])))
	if m.isDropped() {
		g.dropped.add(rank, *m)
	} else {
		g.others.add(rank, *m)
	}
}

// shown is the flow with the messages that are shown, in the order in which they set out.
func (g *gatheredFlow) shown(columns []string) *messageFlow {
	f := &g.counted
	f.Columns = columns
	dropped := g.dropped.first(shownMessages)
	f.Messages = append([]flowMessage{}, dropped...)
	f.Messages = append(f.Messages, g.others.first(shownMessages-len(dropped))...)
	f.Shown, f.DroppedShown = len(f.Messages), len(dropped)
	slices.SortFunc(f.Messages, func(a, b flowMessage) int { return slices.Compare(a.Times, b.Times) })
	return f
}

// beginOf names what a path begins with.
func beginOf(p *system.Path) string {
	if first := p.Nodes[0]; first.Subscription != nil {
		return first.Subscription.TopicName
	}
	return p.Nodes[0].Node.Name
}
