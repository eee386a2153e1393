package programs

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Findings is what a recording tells otherwise than the program.
type Findings struct {
	// Wrong says what rows tell that is not so: another owner, thread, order or callback; rows of what did not happen.
	Wrong []string
	// Missing says what happened and has no row.
	Missing []string
	// Unknown says what rows leave open.
	Unknown []string
	// Compared counts what was compared, by kind.
	Compared map[string]int
}

// comparer holds the rows of one program, sorted by thread and time, and which of them belong to what the program did.
type comparer struct {
	*Findings
	truth *Truth
	*Recording
	callbacks map[int32][]*callbackRow
	publishes map[int32][]*publishRow
	takes     map[int32][]*takeRow
	services  map[int32][]*serviceRow
	// rowOf are the rows of executions, publishOf and takeOf of others.
	rowOf map[*Event]*callbackRow
	// addresses are the callbacks' addresses by entity and way.
	addresses map[addressOf]trace.Address
	topics    map[string]bool // that the program made entities of
	nodes     map[string]bool
	// sent are the requests by what identifies them in the recording.
	sent map[call]*Event
	// departed and arrived are publishes and receptions by what passages tell of them.
	departed map[departure]simultaneous
	arrived  map[instant]simultaneous
	// unattributed are when takes were of which it is not said who got the message, on the dataset's clock.
	unattributed map[int64]bool
}

type addressOf struct {
	entity *Entity
	intra  bool
}

// call identifies a service call.
type call struct {
	client   string
	sequence int64
}

// departure identifies a publish in passages, by each of its layers: another layer of another publish may have the same
// instant.
type departure struct {
	instant
	layer int
}

// instant identifies a reception in passages.
type instant struct {
	at          int64
	topic, node string
}

type callbackRow struct {
	trace.Callback
	start, end uint64 // on the program's clock; 0: unknown
	of         *Event
}

type publishRow struct {
	trace.Publish
	first, last uint64 // layers
	of          *Event
}

func (r *publishRow) layers() []trace.Optional[int64] {
	return []trace.Optional[int64]{
		r.RclcppIntraPublishTimestamp, r.RclcppPublishTimestamp, r.RclPublishTimestamp, r.RMWPublishTimestamp, r.DDSBindAddrToStampTimestamp,
	}
}

type takeRow struct {
	trace.Take
	at uint64
	of *Event
}

type serviceRow struct {
	trace.Service
	at uint64
	of *Event
}

// Compare finds out whether a recording tells of a program what it did.
func Compare(t *Truth, r *Recording) *Findings {
	c := &comparer{
		Findings: &Findings{Compared: map[string]int{}}, truth: t, Recording: r,
		callbacks: map[int32][]*callbackRow{}, publishes: map[int32][]*publishRow{}, takes: map[int32][]*takeRow{}, services: map[int32][]*serviceRow{},
		rowOf: map[*Event]*callbackRow{}, addresses: map[addressOf]trace.Address{}, topics: map[string]bool{}, nodes: map[string]bool{},
		sent: map[call]*Event{}, departed: map[departure]simultaneous{}, arrived: map[instant]simultaneous{},
		unattributed: map[int64]bool{},
	}
	c.index()
	c.compareCallbacks()
	c.comparePublishes()
	c.compareTakes()
	c.compareServices()
	c.compareTransitions()
	c.comparePassages()
	return c.Findings
}

func (c *comparer) wrong(format string, arguments ...any) {
	c.Wrong = append(c.Wrong, fmt.Sprintf(format, arguments...))
}

func (c *comparer) missing(format string, arguments ...any) {
	c.Missing = append(c.Missing, fmt.Sprintf(format, arguments...))
}

func (c *comparer) unknown(format string, arguments ...any) {
	c.Unknown = append(c.Unknown, fmt.Sprintf(format, arguments...))
}

// expect compares a value of a row with the truth; the zero value is unknown.
func expect[T comparable](c *comparer, of, what string, got, want T) {
	var null T
	switch got {
	case want:
	case null:
		c.unknown("%s: %s is unknown, it is %v", of, what, want)
	default:
		c.wrong("%s: %s is %v, not %v", of, what, got, want)
	}
}

// clock converts an instant of the recording to the program's clock; 0 where it is null.
func (c *comparer) clock(at trace.Optional[int64]) uint64 {
	if !at.Valid {
		return 0
	}
	return uint64(at.Value - c.Offset)
}

func describe(what string, e *Event) string {
	return fmt.Sprintf("%s of entity %d (%s %s %s %d) on thread %d at %d", what, e.Entity.ID, e.Entity.Kind, e.Entity.Node, e.Entity.Name, e.Entity.Period, e.TID, e.Start)
}

func (c *comparer) index() {
	for _, e := range c.truth.Entities {
		c.nodes[e.Node] = true
		if e.Name != "" {
			c.topics[e.Name] = true
		}
	}
	for _, row := range c.Callbacks {
		if row.PID == c.truth.PID {
			r := &callbackRow{Callback: row, start: c.clock(row.CallbackStartTimestamp), end: c.clock(row.CallbackEndTimestamp)}
			c.callbacks[row.TID] = append(c.callbacks[row.TID], r)
		}
	}
	for _, row := range c.Publishes {
		if row.PID == c.truth.PID {
			r := &publishRow{Publish: row}
			for _, layer := range r.layers() {
				if at := c.clock(layer); at != 0 {
					if r.first == 0 {
						r.first = at
					}
					r.last = at
				}
			}
			c.publishes[row.TID] = append(c.publishes[row.TID], r)
		}
	}
	for _, row := range c.Takes {
		if row.PID == c.truth.PID {
			r := &takeRow{Take: row, at: c.clock(row.RMWTakeTimestamp)}
			if r.at == 0 {
				r.at = c.clock(row.DequeueTimestamp)
			}
			c.takes[row.TID] = append(c.takes[row.TID], r)
		}
	}
	for _, row := range c.Services {
		if row.PID == c.truth.PID {
			c.services[row.TID] = append(c.services[row.TID], &serviceRow{Service: row, at: c.clock(trace.Some(row.StepTimestamp))})
		}
	}
	sortRows(c.callbacks, func(r *callbackRow) uint64 { return r.start })
	sortRows(c.publishes, func(r *publishRow) uint64 { return r.first })
	sortRows(c.takes, func(r *takeRow) uint64 { return r.at })
	sortRows(c.services, func(r *serviceRow) uint64 { return r.at })
}

func sortRows[Row any](threads map[int32][]*Row, at func(*Row) uint64) {
	for _, rows := range threads {
		slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(at(a), at(b)) })
	}
}

// within returns the rows, sorted by time, that lie within an event.
func within[Row any](rows []*Row, e *Event, at func(*Row) uint64) []*Row {
	from := sort.Search(len(rows), func(i int) bool { return at(rows[i]) >= e.Start })
	to := sort.Search(len(rows), func(i int) bool { return at(rows[i]) > e.End })
	return rows[from:max(from, to)]
}

// recorded reports whether all of an event was recorded for certain. Its probes lie between its start and its end.
func (c *comparer) recorded(e *Event) bool {
	return e.Start >= c.Span.OpenTo && e.End <= c.Span.CloseFrom
}

// compareWhere checks which callback something happened in.
func (c *comparer) compareWhere(what string, in *Event, callback trace.Address, start trace.Optional[int64]) {
	var want *callbackRow
	for ; in != nil; in = in.In {
		// What began before the recording is not known to be around what happens in it.
		if want = c.rowOf[in]; want != nil && want.start != 0 {
			break
		}
		want = nil
	}
	switch {
	case want == nil && callback == 0 && !start.Valid:
	case want == nil:
		c.wrong("%s: is said to have happened in callback %s", what, callback)
	case callback == 0:
		c.unknown("%s: happened in callback %s, which is unknown", what, want.Callback.Callback)
	case callback != want.Callback.Callback || c.clock(start) != want.start:
		c.wrong("%s: happened in callback %s at %d, not in %s at %d", what, callback, c.clock(start), want.Callback.Callback, want.start)
	}
}
