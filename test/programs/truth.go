package programs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// EntityKind says what a program made.
type EntityKind string

// The kinds of entities.
const (
	KindNode                EntityKind = "node"
	KindTimer               EntityKind = "timer"
	KindSubscription        EntityKind = "subscription"
	KindGenericSubscription EntityKind = "generic_subscription"
	// KindPolledSubscription has no executor: the program takes its messages itself.
	KindPolledSubscription EntityKind = "polled_subscription"
	KindPublisher          EntityKind = "publisher"
	KindService            EntityKind = "service"
	// KindDeferringService answers when it likes, not when its callback returns.
	KindDeferringService EntityKind = "deferring_service"
	KindClient           EntityKind = "client"
)

// Entity is something that a program made.
type Entity struct {
	ID   int
	Kind EntityKind
	// Node is the full name. Name is the topic or the service.
	Node, Name string
	// Period is the timer's, in nanoseconds. No two timers have the same.
	Period int64
	// Handle is the address of rcl's object.
	Handle uint64
	// It was made between MadeBefore and MadeAfter, and may be gone from Ended on; 0: it never was.
	MadeBefore, MadeAfter, Ended uint64
}

// Outcome says how a callback ended.
type Outcome string

// The outcomes.
const (
	Returned Outcome = "returned"
	Threw    Outcome = "threw"
)

// Event is something that a program did between two instants of CLOCK_MONOTONIC.
type Event struct {
	TID    int32
	Entity *Entity // nil: the program did not log it, as for callbacks that rclcpp does not trace
	// Number is that of the message, the request or the response; 0: there is none.
	Number     uint64
	Start, End uint64
	Outcome    Outcome
	// In is the innermost traced callback around it; nil: there is none.
	In *Event
}

// Truth is what a program says of itself. Events are sorted by thread and start.
type Truth struct {
	PID      int32
	Entities []*Entity
	// Callbacks are executions that rclcpp traces: of timers, subscriptions and services.
	Callbacks []*Event
	// Publishes, Takes, Requests and Responses are what the program's calls did. Takes are polled messages. A service that
	// does not defer its responses has none here.
	Publishes, Takes, Requests, Responses []*Event
	// Transitions are steps of life cycles.
	Transitions []*Event
}

// ErrTruth is wrapped by errors about what a program wrote.
var ErrTruth = errors.New("malformed truth")

// ParseTruthFile reads what a program wrote.
func ParseTruthFile(path string) (*Truth, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	truth, err := ParseTruth(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return truth, nil
}

// ParseTruth reads what a program wrote. It must have come to its end.
func ParseTruth(reader io.Reader) (*Truth, error) {
	p := &truthParser{truth: &Truth{}, entities: map[int]*Entity{}, frames: map[frame]*Event{}}
	lines := bufio.NewScanner(reader)
	ended := false
	for number := 1; lines.Scan(); number++ {
		if lines.Text() == "end" {
			ended = true
			continue
		}
		if err := p.parse(lines.Text()); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTruth, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !ended {
		return nil, fmt.Errorf("%w: it has no end", ErrTruth)
	}
	return p.truth, p.resolve()
}

// frame identifies an execution of a callback.
type frame struct {
	tid    int32
	entity int
	start  uint64
}

type truthParser struct {
	truth    *Truth
	entities map[int]*Entity
	frames   map[frame]*Event
	events   []parsedEvent
}

// parsedEvent is an event with its references as numbers.
type parsedEvent struct {
	*Event
	into   *[]*Event
	entity int
	in     frame
}

func (p *truthParser) parse(line string) error {
	parts := strings.Split(line, "\t")
	fields := lineFields{values: map[string]string{}}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		fields.values[name] = value
	}
	t := p.truth
	events := map[string]*[]*Event{
		"callback": &t.Callbacks, "publish": &t.Publishes, "take": &t.Takes, "request": &t.Requests, "response": &t.Responses,
		"transition": &t.Transitions, "untraced": nil,
	}
	switch into, isEvent := events[parts[0]]; {
	case parts[0] == "header":
		t.PID = int32(fields.number("pid"))
	case parts[0] == "entity":
		e := &Entity{
			ID: int(fields.number("id")), Kind: EntityKind(fields.text("kind")), Node: fields.text("node"), Name: fields.text("name"),
			Period: int64(fields.number("period")), Handle: fields.number("handle"),
			MadeBefore: fields.number("before"), MadeAfter: fields.number("after"), Ended: fields.number("ended"),
		}
		p.entities[e.ID] = e
		t.Entities = append(t.Entities, e)
	case isEvent:
		e := parsedEvent{into: into, entity: int(fields.number("entity")), Event: &Event{
			TID: int32(fields.number("tid")), Number: fields.number("number"), Start: fields.number("start"), End: fields.number("end"),
			Outcome: Outcome(fields.text("outcome")),
		}}
		e.in = frame{e.TID, int(fields.number("in")), fields.number("in_start")}
		if into == &t.Callbacks {
			p.frames[frame{e.TID, e.entity, e.Start}] = e.Event
		}
		p.events = append(p.events, e)
	default:
		return fmt.Errorf("unknown record %q", parts[0])
	}
	return fields.err
}

// resolve turns references into pointers.
func (p *truthParser) resolve() error {
	for _, e := range p.events {
		if e.into == nil {
			continue
		}
		if e.Entity = p.entities[e.entity]; e.Entity == nil {
			return fmt.Errorf("%w: there is no entity %d", ErrTruth, e.entity)
		}
		if e.in.entity != 0 {
			if e.In = p.frames[e.in]; e.In == nil {
				return fmt.Errorf("%w: there is no callback of entity %d at %d", ErrTruth, e.in.entity, e.in.start)
			}
		}
		*e.into = append(*e.into, e.Event)
	}
	t := p.truth
	for _, events := range []*[]*Event{&t.Callbacks, &t.Publishes, &t.Takes, &t.Requests, &t.Responses, &t.Transitions} {
		slices.SortFunc(*events, func(a, b *Event) int { return cmp.Or(cmp.Compare(a.TID, b.TID), cmp.Compare(a.Start, b.Start)) })
	}
	return nil
}

// lineFields are the fields of a line. The first error stays.
type lineFields struct {
	values map[string]string
	err    error
}

func (f *lineFields) text(name string) string {
	value, ok := f.values[name]
	if !ok && f.err == nil {
		f.err = fmt.Errorf("%s is missing", name)
	}
	return value
}

func (f *lineFields) number(name string) uint64 {
	text := f.text(name)
	if f.err != nil {
		return 0
	}
	value, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", name, err)
	}
	return value
}
