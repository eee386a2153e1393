package perfetto

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnWaits draws when executors' threads waited for work, on a track of each thread.
type drawnWaits struct {
	*drawing
	threads map[threadKey]*lanes
}

type threadKey struct {
	process trace.ProcessKey
	tid     int32
}

func newDrawnWaits(d *drawing) *drawnWaits {
	return &drawnWaits{drawing: d, threads: make(map[threadKey]*lanes)}
}

func (w *drawnWaits) add(rows []trace.Wait) error {
	for i := range rows {
		w.wait(&rows[i])
	}
	return w.err
}

// wait draws a wait. Where one of its ends was not seen it is an instant at the other one.
func (w *drawnWaits) wait(row *trace.Wait) {
	key := threadKey{row.ProcessKey, row.TID}
	on := w.threads[key]
	if on == nil {
		on = &lanes{name: fmt.Sprintf("thread %d waits for work", row.TID), parent: w.process(row.ProcessKey).track}
		w.threads[key] = on
	}
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
