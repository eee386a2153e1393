package trigger

import (
	"fmt"
	"regexp"
	"time"

	"github.com/caret-bpf/caret-bpf/follow"
	"github.com/caret-bpf/caret-bpf/trace"
)

// maxKept bounds how many topics, timers or processes a condition keeps in mind.
const maxKept = 8192

func newCondition(d Definition, b *beyond) condition {
	switch d.Kind {
	case Callback:
		return &longCallback{Definition: d}
	case Message:
		return &lateMessage{Definition: d}
	case Path:
		return newLatePath(d, b)
	case Silent:
		return &silentTopic{d, kept[string, silence]{beyond: b}}
	case Slow:
		return &slowTopic{d, kept[string, pace]{beyond: b}}
	case Timer:
		return &missedTimer{Definition: d}
	case Loss:
		return lost{}
	case Exit:
		return &exited{Definition: d}
	case Restart:
		return &restarted{Definition: d}
	}
	return nothing{}
}

// kept is what is kept in mind of each of some things, up to a bound.
type kept[K comparable, V any] struct {
	of map[K]*V
	// beyond counts those for which there was no room. If it is nil, all others are forgotten for them: they come and go
	// with processes.
	beyond *beyond
}

// at returns what is kept of a thing, fresh if it is new; nil if there is no room.
func (k *kept[K, V]) at(key K) (value *V, fresh bool) {
	if value = k.of[key]; value != nil {
		return value, false
	}
	switch {
	case k.of == nil:
		k.of = map[K]*V{}
	case len(k.of) >= maxKept && k.beyond != nil:
		k.beyond.count++
		return nil, false
	case len(k.of) >= maxKept:
		clear(k.of)
	}
	value = new(V)
	k.of[key] = value
	return value, true
}

func matches(expression *regexp.Regexp, name string) bool {
	return expression == nil || name != "" && expression.MatchString(name)
}

// timeless are conditions that do not depend on the time.
type timeless struct{}

func (timeless) tick(int64, found) {}

// nothing comes by itself.
type nothing struct{ timeless }

func (nothing) look(*trace.Batch, found) {}

type longCallback struct {
	timeless
	Definition
}

func (c *longCallback) look(b *trace.Batch, found found) {
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if !row.CallbackStartTimestamp.Valid || !row.CallbackEndTimestamp.Valid {
			continue
		}
		took := time.Duration(row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value)
		if took > c.Over && matches(c.Node, row.NodeName) && matches(c.Topic, row.TopicName) && matches(c.Symbol, row.Symbol) {
			found(row.CallbackEndTimestamp.Value, fmt.Sprintf("a callback of %s took %v", named(row.NodeName), took), rowOf[trace.Callback]{&b.Callbacks, i})
		}
	}
}

func named(name string) string {
	if name == "" {
		return "an unknown node"
	}
	return name
}

type lateMessage struct {
	timeless
	Definition
}

func (c *lateMessage) look(b *trace.Batch, found found) {
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if !row.CallbackStartTimestamp.Valid || !row.SourceTimestamp.Valid {
			continue
		}
		took := time.Duration(row.CallbackStartTimestamp.Value - row.SourceTimestamp.Value)
		if took > c.Over && matches(c.Node, row.NodeName) && matches(c.Topic, row.TopicName) {
			found(row.CallbackStartTimestamp.Value, fmt.Sprintf("a message of %s was %v old when its callback began", row.TopicName, took),
				rowOf[trace.Callback]{&b.Callbacks, i})
		}
	}
}

// eachPublish passes on when something was published on the topics that are meant.
func eachPublish(b *trace.Batch, topic *regexp.Regexp, each func(topic string, at int64)) {
	for i := range b.Publishes {
		row := &b.Publishes[i]
		if at, ok := follow.PublishedAt(row); ok && row.TopicName != "" && matches(topic, row.TopicName) {
			each(row.TopicName, at)
		}
	}
}

// silence is what is known of a topic: when it was last heard of, and whether its silence was told.
type silence struct {
	last int64
	told bool
}

type silentTopic struct {
	Definition
	topics kept[string, silence]
}

func (c *silentTopic) look(b *trace.Batch, _ found) {
	eachPublish(b, c.Topic, func(topic string, at int64) {
		if heard, _ := c.topics.at(topic); heard != nil {
			heard.last, heard.told = max(heard.last, at), heard.told && at <= heard.last
		}
	})
}

func (c *silentTopic) tick(now int64, found found) {
	for topic, heard := range c.topics.of {
		silent := time.Duration(now - heard.last)
		if silent > c.Over && !heard.told {
			heard.told = true
			found(heard.last+c.Over.Nanoseconds(), fmt.Sprintf("nothing was published on %s for %v", topic, c.Over), nil)
		}
	}
}

// pace is how many messages of a topic have come since an instant.
type pace struct {
	since int64
	count int
}

type slowTopic struct {
	Definition
	topics kept[string, pace]
}

// window is the time in which messages are counted: several are expected in it.
func (c *slowTopic) window() int64 { return max(2e9, int64(5e9/c.Rate)) }

func (c *slowTopic) look(b *trace.Batch, _ found) {
	eachPublish(b, c.Topic, func(topic string, at int64) {
		of, fresh := c.topics.at(topic)
		switch {
		case of == nil:
		case fresh:
			of.since = at // the first one begins the counting
		default:
			of.count++
		}
	})
}

func (c *slowTopic) tick(now int64, found found) {
	for topic, of := range c.topics.of {
		passed := now - of.since
		if passed < c.window() {
			continue
		}
		rate := float64(of.count) / (float64(passed) / 1e9)
		of.since, of.count = now, 0
		if rate < c.Rate {
			found(now, fmt.Sprintf("%.1f messages a second were published on %s, which should be %g", rate, topic, c.Rate), nil)
		}
	}
}

// timerKey is a timer's callback, by where it was.
type timerKey struct {
	process  trace.ProcessKey
	callback trace.Address
}

type missedTimer struct {
	timeless
	Definition
	timers kept[timerKey, int64] // when each last began
}

func (c *missedTimer) look(b *trace.Batch, found found) {
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		start := row.CallbackStartTimestamp
		if !row.Period.Valid || row.Period.Value <= 0 || !start.Valid || !matches(c.Node, row.NodeName) {
			continue
		}
		last, fresh := c.timers.at(timerKey{row.ProcessKey, row.Callback})
		gap := start.Value - *last
		*last = max(*last, start.Value)
		if !fresh && float64(gap) > c.Periods*float64(row.Period.Value) {
			found(start.Value, fmt.Sprintf("a timer of %s with a period of %v came after %v", named(row.NodeName), time.Duration(row.Period.Value), time.Duration(gap)),
				rowOf[trace.Callback]{&b.Callbacks, i})
		}
	}
}

type lost struct{ timeless }

func (lost) look(b *trace.Batch, found found) {
	for i := range b.Losses {
		row := &b.Losses[i]
		reason := fmt.Sprintf("%d records of kind %s were lost: %s", row.Count, row.Kind, row.Reason)
		if row.Reason == trace.LossUnarmed {
			reason = fmt.Sprintf("PID %d had mapped a file that was not probed", row.PID)
		}
		found(row.ToTimestamp, reason, rowOf[trace.Loss]{&b.Losses, i})
	}
}

type exited struct {
	timeless
	Definition
	told kept[trace.ProcessKey, bool]
}

func (c *exited) look(b *trace.Batch, found found) {
	for i := range b.Processes {
		row := &b.Processes[i]
		if !row.Exited || !row.RecordingEndTimestamp.Valid || !matches(c.Process, row.CommandLine) {
			continue
		}
		if _, fresh := c.told.at(row.ProcessKey); fresh {
			found(row.RecordingEndTimestamp.Value, fmt.Sprintf("PID %d (%s) has ended", row.PID, row.Command), rowOf[trace.Process]{&b.Processes, i})
		}
	}
}

// program is what a process runs.
type program struct{ executable, commandLine string }

type restarted struct {
	timeless
	Definition
	met   kept[trace.ProcessKey, bool]
	ended kept[program, bool]
}

func (c *restarted) look(b *trace.Batch, found found) {
	for i := range b.Processes {
		row := &b.Processes[i]
		if row.Executable == "" || !matches(c.Process, row.CommandLine) {
			continue
		}
		of := program{row.Executable, row.CommandLine}
		_, fresh := c.met.at(row.ProcessKey)
		if fresh && !row.Exited && c.ended.of[of] != nil {
			delete(c.ended.of, of)
			found(row.RecordingStartTimestamp.Value, fmt.Sprintf("%s runs again, as PID %d", row.Command, row.PID), rowOf[trace.Process]{&b.Processes, i})
		}
		if row.Exited {
			c.ended.at(of)
		}
	}
}
