package chart

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxExecutions is how many executions a CallbackScheduling draws at most.
const MaxExecutions = 20000

// CallbackScheduling draws when callbacks ran: time to the right, a row for each callback of each thread, and a box for
// each execution.
type CallbackScheduling struct {
	Name string
	// Missing is said below.
	Missing []Missing

	rows   map[rowKey]*schedulingRow
	count  int
	open   uint64
	times  span
	sorted []*schedulingRow
}

// rowKey names a row: a callback, and the thread that it ran on.
type rowKey struct{ thread, callback string }

type schedulingRow struct {
	rowKey
	boxes []execution
}

// execution is one run of a callback. If its end is unknown, end is its begin.
type execution struct {
	begin, end int64
	open       bool
}

// Add adds an execution that is known from its begin to its end, in Unix nanoseconds. It returns ErrTooMuch when there
// are MaxExecutions.
func (c *CallbackScheduling) Add(thread, callback string, begin, end int64) error {
	return c.add(thread, callback, execution{begin: begin, end: end})
}

// AddOpen adds an execution without a known end, as Add does. Its begin is marked.
func (c *CallbackScheduling) AddOpen(thread, callback string, begin int64) error {
	c.open++
	return c.add(thread, callback, execution{begin: begin, end: begin, open: true})
}

func (c *CallbackScheduling) add(thread, callback string, e execution) error {
	if c.count == MaxExecutions {
		return fmt.Errorf("%w: more than %s executions", ErrTooMuch, groupDigits(MaxExecutions))
	}
	e.begin, e.end = limitTime(e.begin), limitTime(e.end)
	if c.rows == nil {
		c.rows = make(map[rowKey]*schedulingRow)
		c.times = span{e.begin, e.end}
	}
	key := rowKey{thread, callback}
	row := c.rows[key]
	if row == nil {
		row = &schedulingRow{rowKey: key}
		c.rows[key] = row
		c.sorted = append(c.sorted, row)
	}
	c.count++
	c.times = c.times.with(span{e.begin, e.end})
	row.boxes = append(row.boxes, e)
	return nil
}

func (c *CallbackScheduling) span() (span, bool) { return c.times, c.count > 0 }

// ordered returns the rows, those of a thread together, in the order of names.
func (c *CallbackScheduling) ordered() []*schedulingRow {
	slices.SortFunc(c.sorted, func(a, b *schedulingRow) int {
		return cmp.Or(compareNatural(a.thread, b.thread), compareNatural(a.callback, b.callback))
	})
	return c.sorted
}

// compareNatural puts short names before long ones that begin alike, as numbers in them want.
func compareNatural(a, b string) int {
	shared := 0
	for shared < min(len(a), len(b)) && a[shared] == b[shared] {
		shared++
	}
	digits := func(text string) (n int) {
		for n = shared; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		}
		return n - shared
	}
	if x, y := digits(a), digits(b); x != y && x > 0 && y > 0 {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// notes say what the panel shows, in lines of that width; open is the mark of executions without a known end.
func (c *CallbackScheduling) notes(width int, open string) []string {
	text := counted(uint64(c.count), "executions")
	if c.open > 0 {
		text += ", " + groupDigits(c.open) + " of them without a known end (" + open + ")"
	}
	if left := missingText(c.Missing); left != "" {
		text += "; not drawn: " + left
	}
	return wrap(text, width)
}
