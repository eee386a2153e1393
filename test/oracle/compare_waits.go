package oracle

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// observes reports whether an event was probed.
func observes(session *trace.Session, event string) bool {
	return slices.ContainsFunc(session.Plan.Sites, func(site trace.Site) bool { return site.Event == event })
}

// waits are the waits for work, by their starts.
var waits = &instantTable[groundtruth.Wait, trace.Wait]{
	what:   "wait",
	events: func(truth *groundtruth.Truth) []groundtruth.Wait { return truth.Waits },
	on:     func(e *groundtruth.Wait) (int, groundtruth.Bracket) { return e.TID, e.Start },
	rows:   func(data *Dataset) []trace.Wait { return waitsWithStart(data, true) },
	of: func(row *trace.Wait) (trace.ProcessKey, int32, int64) {
		return row.ProcessKey, row.TID, row.WaitStartTimestamp.Value
	},
	check: func(c *comparer, what string, wait *groundtruth.Wait, row *trace.Wait) {
		if row == nil {
			if c.waits {
				c.lack(trace.LostWait, what, c.span.holds(wait.Start))
			}
			return
		}
		equal(c, what+": executor", uint64(row.Executor), wait.Executor)
		equal(c, what+": timeout", row.Timeout, trace.Some(wait.Timeout))
		if c.expects(what+": end", row.WaitEndTimestamp.Valid, wait.End) {
			c.checkTime(what+": end", row.WaitEndTimestamp, wait.End)
			equal(c, what+": status", row.Status, trace.WaitComplete)
		} else {
			equal(c, what+": status", row.Status, trace.WaitRecordingEnd)
		}
		c.Compared[trace.LostWait]++
	},
}

// earlierWaits are the waits that began before the recording, by their ends: each is the first that its thread shows.
var earlierWaits = &instantTable[groundtruth.Wait, trace.Wait]{
	what:   "wait from before the recording",
	events: func(truth *groundtruth.Truth) []groundtruth.Wait { return truth.Waits },
	on:     func(e *groundtruth.Wait) (int, groundtruth.Bracket) { return e.TID, e.End },
	rows:   func(data *Dataset) []trace.Wait { return waitsWithStart(data, false) },
	of: func(row *trace.Wait) (trace.ProcessKey, int32, int64) {
		return row.ProcessKey, row.TID, row.WaitEndTimestamp.Value
	},
	check: func(c *comparer, what string, wait *groundtruth.Wait, row *trace.Wait) {
		began := c.span.holds(wait.Start)
		if row == nil {
			if c.waits && began == absent {
				c.lack(trace.LostWait, what, c.span.holds(wait.End))
			}
			return
		}
		if began == present {
			c.differ("%s: began in it", what)
		}
		equal(c, what+": status", row.Status, trace.WaitStartMissing)
		equal(c, what+": executor", uint64(row.Executor), 0)
		equal(c, what+": timeout", row.Timeout, trace.Optional[int64]{})
		c.Compared[trace.LostWait]++
	},
}

// waitsWithStart returns the waits that have a start, or those that have none.
func waitsWithStart(data *Dataset, has bool) []trace.Wait {
	return slices.DeleteFunc(slices.Clone(data.Waits), func(row trace.Wait) bool { return row.WaitStartTimestamp.Valid != has })
}
