package perfetto

import (
	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnWaits draws when executors' threads waited for work, on a track of each thread.
type drawnWaits struct {
	*drawing
	threads threadLanes
}

func newDrawnWaits(d *drawing) *drawnWaits {
	return &drawnWaits{drawing: d, threads: newThreadLanes("waits for work")}
}

func (w *drawnWaits) add(rows []trace.Wait) error {
	for i := range rows {
		w.wait(&rows[i])
	}
	return w.err
}

// wait draws a wait. Where one of its ends was not seen it is an instant at the other one.
func (w *drawnWaits) wait(row *trace.Wait) {
	on := w.threads.of(w.drawing, row.ProcessKey, row.TID)
	w.summary.Waits++
	begin, end := row.WaitStartTimestamp, row.WaitEndTimestamp
	if begin.Valid && end.Valid {
		end.Value = max(end.Value, begin.Value)
		track := on.free(&w.tracks, begin.Value, end.Value).uuid
		w.occurred(begin.Value, appendVarint(w.event(sliceBegin, categoryWait, "wait"), eventTrackUUID, track))
		w.end(track, end.Value)
		return
	}
	at, missing := begin, "end"
	if !at.Valid {
		at, missing = end, "start"
	}
	track := on.free(&w.tracks, at.Value, at.Value).uuid
	b := w.text(w.event(instant, categoryWait, "wait"), "status", string(row.Status))
	w.occurred(at.Value, appendVarint(w.text(b, missing, "not seen: drawn as an instant at its other end"), eventTrackUUID, track))
}
