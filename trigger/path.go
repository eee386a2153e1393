package trigger

import (
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxSteps bounds how many callbacks a path leads through: messages may go round in a circle.
	maxSteps = 64
	// callbackPatience is how long a callback at a path's end waits for the rows of those before it, which come when they
	// have ended; publishPatience, how long it waits for a publish, whose row comes soon or never.
	callbackPatience = time.Minute
	publishPatience  = 5 * time.Second
	// maxUses bounds what is kept of how a place in a buffer was used: the newest.
	maxUses = 64
)

// latePath follows messages from the callback at a path's end back to its begin: each callback on the way got one
// message and published the next. A row comes when its callback has ended, so that of a later callback may come first.
type latePath struct {
	Definition
	beyond *beyond

	byPublish  recent[publishKey, publishedMessage]
	byMessage  recent[messageKey, publishedMessage]
	executions recent[execution, taken]
	slots      recent[slotKey, []use]
	// waiting are callbacks at the path's end that cannot be followed back yet, the oldest first.
	waiting []trace.Callback
}

// verdict is how far a callback was followed back.
type verdict int

const (
	decided verdict = iota
	noCallback
	noPublish
)

// process is a process of the recording.
type process struct {
	pid   int32
	start int64
}

func processOf(key trace.ProcessKey) process { return process{key.PID, key.ProcessStart} }

// execution is one execution of a callback.
type execution struct {
	process process
	tid     int32
	start   int64
}

// publishKey is one publish, by its thread and publish_number.
type publishKey struct {
	process process
	tid     int32
	number  uint64
}

// messageKey is a message that went through the middleware.
type messageKey struct {
	topic  string
	source int64
}

// slotKey is a place in an intra-process buffer.
type slotKey struct {
	process process
	buffer  trace.Address
	index   uint64
}

// publishedMessage is when a message was published, and where.
type publishedMessage struct {
	at int64
	// begins is its topic if the path begins with it, else "".
	begins string
	// in is the callback that published it; its start is 0 if none did.
	in execution
}

// use is a message that was put into a place of a buffer, or taken out of it.
type use struct {
	at      int64
	taken   bool
	publish publishKey // of a message that was put there
	isWhose bool       // publish is known
}

// taken is the message that a callback got: one of the middleware, one of a buffer, or none.
type taken struct {
	message  messageKey // its topic is "" if it is none of the middleware
	slot     slotKey    // its buffer is 0 if it is none of a buffer
	dequeued int64
}

func takenBy(row *trace.Callback) (t taken) {
	switch {
	case row.SourceTimestamp.Valid && row.TopicName != "":
		t.message = messageKey{row.TopicName, row.SourceTimestamp.Value}
	case row.DequeueIndex.Valid && row.DequeueTimestamp.Valid:
		t.slot = slotKey{processOf(row.ProcessKey), row.Buffer, row.DequeueIndex.Value}
		t.dequeued = row.DequeueTimestamp.Value
	}
	return t
}

func (c *latePath) look(b *trace.Batch, found found) {
	for i := range b.Publishes {
		c.keepPublish(&b.Publishes[i])
	}
	for i := range b.Enqueues {
		c.keepEnqueue(&b.Enqueues[i])
	}
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if !row.CallbackStartTimestamp.Valid {
			continue
		}
		start, t := row.CallbackStartTimestamp.Value, takenBy(row)
		c.executions.set(execution{processOf(row.ProcessKey), row.TID, start}, t, start)
		if t.slot.buffer != 0 {
			c.keepUse(t.slot, use{at: t.dequeued, taken: true})
		}
	}
	for i := range b.Takes {
		if row := &b.Takes[i]; row.DequeueIndex.Valid && row.DequeueTimestamp.Valid {
			c.keepUse(slotKey{processOf(row.ProcessKey), row.Buffer, row.DequeueIndex.Value}, use{at: row.DequeueTimestamp.Value, taken: true})
		}
	}
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if row.CallbackStartTimestamp.Valid && row.TopicName != "" && matches(c.To, row.TopicName) && c.decide(row, found) != decided {
			c.wait(row)
		}
	}
}

func (c *latePath) keepPublish(row *trace.Publish) {
	at, ok := publishedAt(row)
	if !ok {
		return
	}
	p := publishedMessage{at: at}
	if row.TopicName != "" && matches(c.From, row.TopicName) {
		p.begins = row.TopicName
	}
	if row.CallbackStartTimestamp.Valid {
		p.in = execution{processOf(row.ProcessKey), row.TID, row.CallbackStartTimestamp.Value}
	}
	if row.SourceTimestamp.Valid && row.TopicName != "" {
		c.byMessage.set(messageKey{row.TopicName, row.SourceTimestamp.Value}, p, at)
	}
	if row.EnqueueCount > 0 {
		c.byPublish.set(publishKey{processOf(row.ProcessKey), row.TID, row.PublishNumber}, p, at)
	}
}

func (c *latePath) keepEnqueue(row *trace.Enqueue) {
	if !row.Index.Valid {
		return
	}
	of := processOf(row.ProcessKey)
	c.keepUse(slotKey{of, row.Buffer, row.Index.Value}, use{
		at: row.EnqueueTimestamp, publish: publishKey{of, row.TID, row.PublishNumber.Value}, isWhose: row.PublishNumber.Valid,
	})
}

func (c *latePath) keepUse(slot slotKey, u use) {
	room := c.slots.room(u.at)
	uses := room[slot]
	if len(uses) >= maxUses {
		uses = append(uses[:0], uses[maxUses/2:]...)
	}
	room[slot] = append(uses, u)
}

// published returns the message that was taken.
func (c *latePath) published(t taken) (p publishedMessage, ok bool) {
	if t.message.topic != "" {
		return c.byMessage.get(t.message)
	}
	put, ok := c.lastPut(t)
	if !ok {
		return publishedMessage{}, false
	}
	return c.byPublish.get(put)
}

// lastPut returns the publish of the message that lay in a place when it was taken from there. That is not known if the
// last one that is known had been taken before: the row of another one is missing.
func (c *latePath) lastPut(t taken) (publish publishKey, ok bool) {
	var newest use
	for _, half := range []map[slotKey][]use{c.slots.young, c.slots.old} {
		for _, u := range half[t.slot] {
			isOther := !u.taken || u.at != t.dequeued
			if isOther && u.at <= t.dequeued && u.at >= newest.at {
				newest = u
			}
		}
	}
	return newest.publish, newest.isWhose && !newest.taken
}

// decide follows a callback's message back.
func (c *latePath) decide(row *trace.Callback, found found) verdict {
	t := takenBy(row)
	for range maxSteps {
		if t == (taken{}) {
			return decided
		}
		p, ok := c.published(t)
		if !ok {
			return noPublish
		}
		if p.begins != "" {
			c.judge(row, p, found)
			return decided
		}
		if p.in.start == 0 {
			return decided
		}
		if t, ok = c.executions.get(p.in); !ok {
			return noCallback
		}
	}
	return decided
}

func (c *latePath) judge(row *trace.Callback, begin publishedMessage, found found) {
	start := row.CallbackStartTimestamp.Value
	if took := time.Duration(start - begin.at); took > c.Over {
		rows := trace.Rows[trace.Callback]{*row}
		found(start, fmt.Sprintf("a callback of %s began %v after the message of %s was published from which its input came", row.TopicName, took, begin.begins),
			rowOf[trace.Callback]{&rows, 0})
	}
}

// wait keeps a row until more has come. If there are too many, the oldest is given up.
func (c *latePath) wait(row *trace.Callback) {
	if len(c.waiting) >= maxKept {
		c.waiting = c.waiting[1:]
		c.beyond.count++
	}
	c.waiting = append(c.waiting, *row)
}

func (c *latePath) tick(now int64, found found) {
	still := c.waiting[:0]
	for i := range c.waiting {
		row := &c.waiting[i]
		patience := callbackPatience
		switch c.decide(row, found) {
		case decided:
			continue
		case noPublish:
			patience = publishPatience
		}
		if now-row.CallbackStartTimestamp.Value < patience.Nanoseconds() {
			still = append(still, *row)
		} else if c.hasForgotten(row) {
			c.beyond.count++
		}
	}
	clear(c.waiting[len(still):])
	c.waiting = still
}

// hasForgotten reports whether what a callback got may be among what was forgotten.
func (c *latePath) hasForgotten(row *trace.Callback) bool {
	start := row.CallbackStartTimestamp.Value
	since := start - max(c.Over, publishPatience).Nanoseconds()
	switch t := takenBy(row); {
	case t.message.topic != "":
		since = min(since, t.message.source)
	case t.slot.buffer != 0:
		since = min(since, t.dequeued)
	}
	return c.byMessage.hasForgotten(since) || c.byPublish.hasForgotten(since) || c.executions.hasForgotten(since) || c.slots.hasForgotten(since)
}
