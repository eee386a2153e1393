package perfetto

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnLosses draws what is missing where it is missing.
type drawnLosses struct {
	*drawing
	top     uint64 // the track above all
	all     map[string]*drawnLoss
	unarmed map[trace.ProcessKey]*lanes
}

// drawnLoss is the losses of a kind and a reason.
type drawnLoss struct {
	lanes *lanes
	track uint64 // of the number
	lost  uint64
}

func newDrawnLosses(d *drawing) *drawnLosses {
	return &drawnLosses{drawing: d, all: make(map[string]*drawnLoss), unarmed: make(map[trace.ProcessKey]*lanes)}
}

func (l *drawnLosses) add(rows []trace.Loss) error {
	for i := range rows {
		if rows[i].Reason == trace.LossUnarmed {
			l.addUnarmed(&rows[i])
		} else {
			l.addLost(&rows[i])
		}
	}
	return l.err
}

// addUnarmed draws that nothing was seen of what a process did in a file.
func (l *drawnLosses) addUnarmed(row *trace.Loss) {
	of := l.processOf(row)
	tracks := l.unarmed[of]
	if tracks == nil {
		tracks = &lanes{name: "not seen", parent: l.drawing.process(of).track}
		l.unarmed[of] = tracks
	}
	name := "all files"
	if row.File != "" {
		name = row.File
	}
	b := l.event(sliceBegin, categoryLoss, "not seen: what was done in "+name)
	b = l.ownText(l.ownText(b, "file", row.File), "events", row.Events)
	l.slice(tracks, row, b)
}

// processOf is the process that a row names. Rows do not name the boot: a dataset is of one.
func (l *drawnLosses) processOf(row *trace.Loss) trace.ProcessKey {
	for key := range l.known {
		if key.PID == row.PID && key.ProcessStart == row.ProcessStart {
			return key
		}
	}
	return trace.ProcessKey{PID: row.PID, ProcessStart: row.ProcessStart}
}

// addLost draws that so many records were lost.
func (l *drawnLosses) addLost(row *trace.Loss) {
	name := fmt.Sprintf("%s: %s", row.Kind, row.Reason)
	of := l.all[name]
	if of == nil {
		if l.top == 0 {
			l.top = l.describe("losses", 0)
		}
		of = &drawnLoss{lanes: &lanes{name: name, parent: l.top}, track: l.counter(name+", so far", "records", l.top)}
		l.all[name] = of
		l.occurred(row.FromTimestamp, appendCount(nil, of.track, 0))
	}
	of.lost += row.Count
	b := l.number(l.event(sliceBegin, categoryLoss, name), "lost", int64(row.Count))
	l.slice(of.lanes, row, b)
	l.occurred(row.ToTimestamp, appendCount(nil, of.track, int64(of.lost)))
}

// slice draws the time of a row.
func (l *drawnLosses) slice(on *lanes, row *trace.Loss, event []byte) {
	end := max(row.ToTimestamp, row.FromTimestamp)
	track := on.free(&l.tracks, row.FromTimestamp, end).uuid
	l.occurred(row.FromTimestamp, appendVarint(event, eventTrackUUID, track))
	l.end(track, end)
}
