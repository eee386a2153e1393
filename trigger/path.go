package trigger

import (
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/follow"
	"github.com/caret-bpf/caret-bpf/trace"
)

// latePath follows messages back from the callback at a path's end.
type latePath struct {
	Definition
	path   follow.Path
	beyond *beyond
	told   uint64 // of what is beyond, what was counted
}

func newLatePath(d Definition, b *beyond) *latePath {
	return &latePath{Definition: d, beyond: b, path: follow.Path{
		Begins:  func(topic string) bool { return matches(d.From, topic) },
		Ends:    func(topic string) bool { return matches(d.To, topic) },
		Longest: d.Over,
	}}
}

func (c *latePath) look(b *trace.Batch, found found) {
	c.path.Look(b, c.judge(found))
	c.count()
}

func (c *latePath) tick(now int64, found found) {
	c.path.Tick(now, c.judge(found))
	c.count()
}

func (c *latePath) count() {
	c.beyond.count += c.path.Beyond() - c.told
	c.told = c.path.Beyond()
}

func (c *latePath) judge(found found) follow.Arrival {
	return func(row *trace.Callback, begin follow.Message) {
		start := row.CallbackStartTimestamp.Value
		if took := time.Duration(start - begin.At); took > c.Over {
			rows := trace.Rows[trace.Callback]{*row}
			found(start, fmt.Sprintf("a callback of %s began %v after the message of %s was published from which its input came", row.TopicName, took, begin.Topic),
				rowOf[trace.Callback]{&rows, 0})
		}
	}
}
