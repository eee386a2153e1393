package session

import (
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/trace"
)

// losses are what is in the loss table of records that never came. They are of the session's own goroutine.
type losses struct {
	told  map[loader.Loss]uint64 // by loss without count
	since int64                  // when losses were last counted, Unix ns
	began int64                  // when the recording did, Unix ns; set before anybody else can ask
}

// fresh returns what the table has not got yet, of what was lost until now, and since when it was lost.
func (l *losses) fresh(counted []loader.Loss, now int64) (from int64, rows []trace.Loss) {
	from = l.since
	for _, loss := range counted {
		key := loader.Loss{Kind: loss.Kind, Reason: loss.Reason}
		fresh := loss.Count - l.told[key]
		if fresh == 0 {
			continue
		}
		if l.told == nil {
			l.told = map[loader.Loss]uint64{}
		}
		l.told[key] = loss.Count
		rows = append(rows, trace.Loss{
			Kind: trace.LossKind(loss.Kind.String()), Reason: trace.LossReason(loss.Reason.String()), Count: fresh,
			FromTimestamp: from, ToTimestamp: now,
		})
	}
	l.since = now
	return from, rows
}

// totals are all losses until now.
func (l *losses) totals() (totals []trace.LossTotal) {
	for key, count := range l.told {
		totals = append(totals, trace.LossTotal{
			Kind: trace.LossKind(key.Kind.String()), Reason: trace.LossReason(key.Reason.String()), Count: count,
		})
	}
	return totals
}

// records is how many records were lost, for whatever reason.
func (l *losses) records() (count uint64) {
	for _, lost := range l.told {
		count += lost
	}
	return count
}

// countLosses adds to the loss table what was lost since the last time.
func (s *Session) countLosses() error {
	losses, err := s.loader.Losses()
	if err != nil {
		return err
	}
	now := s.clock.now()
	from, rows := s.losses.fresh(losses, now)
	for _, row := range rows {
		if row.Kind == trace.LostInit && row.Reason != trace.LossRingFull { // of those the reader knows
			s.merger.Doubt(from-s.clock.RealtimeOffset, now-s.clock.RealtimeOffset)
		}
	}
	if len(rows) > 0 {
		totals := s.losses.totals()
		s.journal.with(func(report *trace.Session) { report.Losses = totals })
	}
	return s.rows.Write(&trace.Batch{Losses: rows})
}
