package perfetto

import (
	"cmp"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnServices draws calls of services: a slice each, with one in it for each part of which both ends were seen.
type drawnServices struct {
	*drawing
	top      uint64 // the track above all
	services map[string]*lanes
}

func newDrawnServices(d *drawing) *drawnServices {
	return &drawnServices{drawing: d, services: make(map[string]*lanes)}
}

// add draws calls, which come in the order of their first steps.
func (s *drawnServices) add(calls []analyze.ServiceCall) error {
	for i := range calls {
		s.call(&calls[i])
	}
	return s.err
}

func (s *drawnServices) call(call *analyze.ServiceCall) {
	steps := [...]trace.Optional[int64]{call.RequestSent, call.RequestTaken, call.ResponseSent, call.ResponseTaken}
	begin, end := int64(forever), int64(0)
	for i := range steps {
		if steps[i].Valid {
			begin, end = min(begin, steps[i].Value), max(end, steps[i].Value)
		}
	}
	if begin > end {
		return
	}
	on := s.services[call.Service]
	if on == nil {
		if s.top == 0 {
			s.top = s.describe("services", 0)
		}
		on = &lanes{name: cmp.Or(call.Service, "unknown service"), parent: s.top}
		s.services[call.Service] = on
	}
	s.summary.Calls++
	track := on.free(&s.tracks, begin, end).uuid
	b := s.event(sliceBegin, categoryService, cmp.Or(call.Service, "unknown service"))
	b = s.number(s.text(s.text(b, "client", call.ClientNode), "server", call.ServerNode), "sequence_number", call.SequenceNumber)
	if !call.RequestSent.Valid {
		b = s.text(b, "start", "not seen: drawn from the first step that was")
	}
	if !call.ResponseTaken.Valid {
		b = s.text(b, "end", "not seen: drawn to the last step that was")
	}
	s.occurred(begin, appendVarint(b, eventTrackUUID, track))
	at := begin
	for i, part := range []analyze.ServicePart{analyze.PartRequest, analyze.PartServer, analyze.PartResponse} {
		if !steps[i].Valid || !steps[i+1].Valid {
			continue
		}
		// Parts between hosts may end before they begin, as their clocks differ.
		at = max(at, steps[i].Value)
		s.occurred(at, appendVarint(s.event(sliceBegin, categoryService, string(part)), eventTrackUUID, track))
		at = max(at, min(steps[i+1].Value, end))
		s.end(track, at)
	}
	s.end(track, end)
}
