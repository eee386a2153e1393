package view

import (
	"cmp"
	"context"
	"fmt"
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
	all, err := v.flowsOf(ctx, []string{text}, from, to)
	if err != nil {
		return nil, err
	}
	for _, flow := range all { // paths of one text are called the same
		return flow.within(v.since(from), v.since(to)), nil
	}
	return nil, fmt.Errorf("%w: path %s", system.ErrNoSuchName, text)
}

// allMessages are those of a path, in the order in which they set out.
type allMessages struct {
	columns  []string
	messages []flowMessage
}

// flowsOf returns the messages that set out on paths in a time, by what the paths are called.
func (v *View) flowsOf(ctx context.Context, texts []string, from, to int64) (map[string]*allMessages, error) {
	filter := v.options.Filter
	filter.From, filter.To = trace.Some(from), trace.Some(to)
	all := make(map[string]*allMessages)
	err := v.withActivityOf(ctx, filter, func(q *analyze.Query) error {
		paths, err := v.options.Paths.Find(ctx, q, texts, "", "")
		if err != nil {
			return err
		}
		for _, p := range paths {
			all[textOf(p)] = &allMessages{columns: []string{beginOf(p)}}
		}
		hops, err := q.PathFlows(ctx, paths, v.options.Paths.Options(), func(flows []analyze.PathFlow) error {
			for i := range flows {
				f := &flows[i]
				for at := range f.Times {
					f.Times[at] = v.since(f.Times[at])
				}
				of := all[f.Path]
				of.messages = append(of.messages, flowMessage{f.Times, f.Fate, f.Again})
			}
			return nil
		})
		for i := range hops {
			if of := all[hops[i].Path]; hops[i].Hop == len(of.columns) {
				of.columns = append(of.columns, hops[i].Name)
			}
		}
		return err
	})
	for _, of := range all {
		slices.SortFunc(of.messages, func(a, b flowMessage) int { return slices.Compare(a.Times, b.Times) })
	}
	return all, err
}

// within are those of the messages that set out in a time, both ends included.
func (a *allMessages) within(from, to int64) *messageFlow {
	begin := func(at int64) int {
		i, _ := slices.BinarySearchFunc(a.messages, at, func(m flowMessage, at int64) int { return cmp.Compare(m.Times[0], at) })
		return i
	}
	messages := a.messages[begin(from):begin(to+1)]
	f := &messageFlow{Columns: a.columns, Ways: len(messages), Fates: make(map[analyze.Fate]int), Messages: chooseMessages(messages)}
	for i := range messages {
		f.Fates[messages[i].Fate]++
		if !messages[i].again {
			f.MessagesTotal++
		}
	}
	f.Shown = len(f.Messages)
	for i := range f.Messages {
		if f.Messages[i].isDropped() {
			f.DroppedShown++
		}
	}
	return f
}

// beginOf names what a path begins with.
func beginOf(p *system.Path) string {
	if first := p.Nodes[0]; first.Subscription != nil {
		return first.Subscription.TopicName
	}
	return p.Nodes[0].Node.Name
}

// chooseMessages chooses those that were dropped, and evenly of the others as far as there is room; else evenly of the
// dropped ones.
func chooseMessages(all []flowMessage) []flowMessage {
	if len(all) <= shownMessages {
		return append([]flowMessage{}, all...)
	}
	var dropped, others []int
	for i := range all {
		if all[i].isDropped() {
			dropped = append(dropped, i)
		} else {
			others = append(others, i)
		}
	}
	chosen := evenly(dropped, shownMessages)
	chosen = append(chosen, evenly(others, shownMessages-len(chosen))...)
	slices.Sort(chosen)
	var messages []flowMessage
	for _, i := range chosen {
		messages = append(messages, all[i])
	}
	return messages
}

// evenly chooses so many of them at most.
func evenly(of []int, most int) []int {
	if len(of) <= most {
		return slices.Clone(of)
	}
	chosen := make([]int, most)
	for i := range chosen {
		chosen[i] = of[i*len(of)/most]
	}
	return chosen
}
