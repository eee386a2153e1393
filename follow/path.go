package follow

import (
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxSteps bounds how many callbacks a path leads through: messages may go round in a circle.
	maxSteps = 64
	// maxWaiting bounds how many callbacks at a path's end wait for what is before them.
	maxWaiting = 8192
	// callbackPatience is how long a callback at a path's end waits for the rows of those before it, which come when they
	// have ended; publishPatience, how long it waits for a publish, whose row comes soon or never.
	callbackPatience = time.Minute
	publishPatience  = 5 * time.Second
)

// Path follows messages from the callback at a path's end back to its begin: each callback on the way got one message
// and published the next. A row comes when its callback has ended, so that of a later callback may come first.
type Path struct {
	// Begins and Ends tell of topics that a path begins or ends with them. They are asked once of each, or now and then.
	Begins, Ends func(topic string) bool
	// Longest is how long a message may have been on its way, to be known; 0 is some seconds.
	Longest time.Duration

	begins, ends answers
	messages     Messages
	executions   recent[execution, Taken]
	// waiting are callbacks at the path's end that cannot be followed back yet, the oldest first.
	waiting []trace.Callback
	beyond  uint64
}

// answers are those to a question about topics: most rows are of the same few.
type answers map[string]bool

// maxAnswers bounds how many are kept.
const maxAnswers = 8192

func (a *answers) to(question func(string) bool, topic string) bool {
	answer, known := (*a)[topic]
	if !known {
		if *a == nil || len(*a) >= maxAnswers {
			*a = answers{}
		}
		answer = question(topic)
		(*a)[topic] = answer
	}
	return answer
}

// Arrival is called for a callback at a path's end, with the message at its begin.
type Arrival func(row *trace.Callback, begin Message)

// verdict is how far a callback was followed back.
type verdict int

const (
	decided verdict = iota
	noCallback
	noPublish
)

// Look looks at rows as they come.
func (p *Path) Look(b *trace.Batch, arrived Arrival) {
	p.messages.Look(b)
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if row.CallbackStartTimestamp.Valid {
			start := row.CallbackStartTimestamp.Value
			p.executions.set(execution{processOf(row.ProcessKey), row.TID, start}, TakenBy(row), start)
		}
	}
	for i := range b.Callbacks {
		row := &b.Callbacks[i]
		if row.CallbackStartTimestamp.Valid && row.TopicName != "" && p.ends.to(p.Ends, row.TopicName) && p.decide(row, arrived) != decided {
			p.wait(row)
		}
	}
}

// decide follows a callback's message back.
func (p *Path) decide(row *trace.Callback, arrived Arrival) verdict {
	t := TakenBy(row)
	for range maxSteps {
		if t == (Taken{}) {
			return decided
		}
		message, ok := p.messages.Published(t)
		if !ok {
			return noPublish
		}
		if message.Topic != "" && p.begins.to(p.Begins, message.Topic) {
			arrived(row, message)
			return decided
		}
		if message.in.start == 0 {
			return decided
		}
		if t, ok = p.executions.get(message.in); !ok {
			return noCallback
		}
	}
	return decided
}

// wait keeps a row until more has come. If there are too many, the oldest is given up.
func (p *Path) wait(row *trace.Callback) {
	if len(p.waiting) >= maxWaiting {
		p.waiting = p.waiting[1:]
		p.beyond++
	}
	p.waiting = append(p.waiting, *row)
}

// Tick follows back what has waited. It is to be called about every second or more often.
func (p *Path) Tick(now int64, arrived Arrival) {
	still := p.waiting[:0]
	for i := range p.waiting {
		row := &p.waiting[i]
		patience := callbackPatience
		switch p.decide(row, arrived) {
		case decided:
			continue
		case noPublish:
			patience = publishPatience
		}
		if now-row.CallbackStartTimestamp.Value < patience.Nanoseconds() {
			still = append(still, *row)
		} else if p.hasForgotten(row) {
			p.beyond++
		}
	}
	clear(p.waiting[len(still):])
	p.waiting = still
}

// hasForgotten reports whether what a callback got may be among what was forgotten.
func (p *Path) hasForgotten(row *trace.Callback) bool {
	start := row.CallbackStartTimestamp.Value
	since := start - max(p.Longest, publishPatience).Nanoseconds()
	switch t := TakenBy(row); {
	case t.message.topic != "":
		since = min(since, t.message.source)
	case t.slot.buffer != 0:
		since = min(since, t.dequeued)
	}
	return p.messages.HasForgotten(since) || p.executions.hasForgotten(since)
}

// Beyond counts callbacks at the path's end for which there was no room, or whose messages may have been forgotten.
func (p *Path) Beyond() uint64 { return p.beyond }
