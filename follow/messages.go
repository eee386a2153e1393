package follow

import "github.com/caret-bpf/caret-bpf/trace"

// maxUses bounds what is kept of how a place in a buffer was used: the newest.
const maxUses = 64

// Messages are those that were published of late, by how they are found again. The zero Messages has none.
type Messages struct {
	byPublish recent[publishKey, Message]
	bySource  recent[sourceKey, Message]
	slots     recent[slotKey, []use]
}

// Message is one that was published.
type Message struct {
	// At is when it was published, at the first layer that was seen; in nanoseconds on the dataset's clock.
	At int64
	// Topic is "" where it is not known.
	Topic string
	// in is the callback that published it; its start is 0 if none did.
	in execution
}

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

// sourceKey is a message that went through the middleware.
type sourceKey struct {
	topic  string
	source int64
}

// slotKey is a place in an intra-process buffer.
type slotKey struct {
	process process
	buffer  trace.Address
	index   uint64
}

// use is a message that was put into a place of a buffer, or taken out of it.
type use struct {
	at      int64
	taken   bool
	publish publishKey // of a message that was put there
	isWhose bool       // publish is known
}

// Taken is the message that a callback got: one of the middleware, one of a buffer, or none (the zero Taken).
type Taken struct {
	message  sourceKey // its topic is "" if it is none of the middleware
	slot     slotKey   // its buffer is 0 if it is none of a buffer
	dequeued int64
}

// TakenBy is what a callback got, as far as its row tells.
func TakenBy(row *trace.Callback) (t Taken) {
	switch {
	case row.SourceTimestamp.Valid && row.TopicName != "":
		t.message = sourceKey{row.TopicName, row.SourceTimestamp.Value}
	case row.DequeueIndex.Valid && row.DequeueTimestamp.Valid:
		t.slot = slotKey{processOf(row.ProcessKey), row.Buffer, row.DequeueIndex.Value}
		t.dequeued = row.DequeueTimestamp.Value
	}
	return t
}

// PublishedAt is when a message was published: the first layer that was seen.
func PublishedAt(row *trace.Publish) (at int64, ok bool) {
	for _, layer := range []trace.Optional[int64]{
		row.RclcppIntraPublishTimestamp, row.RclcppPublishTimestamp, row.RclPublishTimestamp, row.RMWPublishTimestamp, row.DDSBindAddrToStampTimestamp,
	} {
		if layer.Valid {
			return layer.Value, true
		}
	}
	return 0, false
}

// Look keeps what rows tell of messages, and of their ways through buffers.
func (m *Messages) Look(b *trace.Batch) {
	for i := range b.Publishes {
		m.keepPublish(&b.Publishes[i])
	}
	for i := range b.Enqueues {
		m.keepEnqueue(&b.Enqueues[i])
	}
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if t := TakenBy(row); row.CallbackStartTimestamp.Valid && t.slot.buffer != 0 {
			m.keepUse(t.slot, use{at: t.dequeued, taken: true})
		}
	}
	for i := range b.Takes {
		if row := &b.Takes[i]; row.DequeueIndex.Valid && row.DequeueTimestamp.Valid {
			m.keepUse(slotKey{processOf(row.ProcessKey), row.Buffer, row.DequeueIndex.Value}, use{at: row.DequeueTimestamp.Value, taken: true})
		}
	}
}

func (m *Messages) keepPublish(row *trace.Publish) {
	at, ok := PublishedAt(row)
	if !ok {
		return
	}
	message := Message{At: at, Topic: row.TopicName}
	if row.CallbackStartTimestamp.Valid {
		message.in = execution{processOf(row.ProcessKey), row.TID, row.CallbackStartTimestamp.Value}
	}
	if row.SourceTimestamp.Valid && row.TopicName != "" {
		m.bySource.set(sourceKey{row.TopicName, row.SourceTimestamp.Value}, message, at)
	}
	if row.EnqueueCount > 0 {
		m.byPublish.set(publishKey{processOf(row.ProcessKey), row.TID, row.PublishNumber}, message, at)
	}
}

func (m *Messages) keepEnqueue(row *trace.Enqueue) {
	if !row.Index.Valid {
		return
	}
	of := processOf(row.ProcessKey)
	m.keepUse(slotKey{of, row.Buffer, row.Index.Value}, use{
		at: row.EnqueueTimestamp, publish: publishKey{of, row.TID, row.PublishNumber.Value}, isWhose: row.PublishNumber.Valid,
	})
}

func (m *Messages) keepUse(slot slotKey, u use) {
	room := m.slots.room(u.at)
	uses := room[slot]
	if len(uses) >= maxUses {
		uses = append(uses[:0], uses[maxUses/2:]...)
	}
	room[slot] = append(uses, u)
}

// Published returns the message that was taken. It is not known before the rows of its publish and of its enqueue have
// come, nor when they are forgotten.
func (m *Messages) Published(t Taken) (message Message, ok bool) {
	if t.message.topic != "" {
		return m.bySource.get(t.message)
	}
	put, ok := m.lastPut(t)
	if !ok {
		return Message{}, false
	}
	return m.byPublish.get(put)
}

// lastPut returns the publish of the message that lay in a place when it was taken from there. That is not known if the
// last one that is known had been taken before: the row of another one is missing.
func (m *Messages) lastPut(t Taken) (publish publishKey, ok bool) {
	var newest use
	for _, half := range []map[slotKey][]use{m.slots.young, m.slots.old} {
		for _, u := range half[t.slot] {
			isOther := !u.taken || u.at != t.dequeued
			if isOther && u.at <= t.dequeued && u.at >= newest.at {
				newest = u
			}
		}
	}
	return newest.publish, newest.isWhose && !newest.taken
}

// HasForgotten reports whether something was forgotten that came at or after an instant.
func (m *Messages) HasForgotten(since int64) bool {
	return m.bySource.hasForgotten(since) || m.byPublish.hasForgotten(since) || m.slots.hasForgotten(since)
}
