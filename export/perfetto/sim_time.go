package perfetto

import "github.com/caret-bpf/caret-bpf/trace"

// drawnSimTimes draws simulated time as a counter of each process.
type drawnSimTimes struct {
	*drawing
	counters map[trace.ProcessKey]uint64
}

func newDrawnSimTimes(d *drawing) *drawnSimTimes {
	return &drawnSimTimes{drawing: d, counters: make(map[trace.ProcessKey]uint64)}
}

func (s *drawnSimTimes) add(rows []trace.SimTime) error {
	for i := range rows {
		row := &rows[i]
		track := s.counters[row.ProcessKey]
		if track == 0 {
			track = s.counter("simulated time", "ns", s.process(row.ProcessKey).track)
			s.counters[row.ProcessKey] = track
		}
		s.occurred(row.UpdateTimestamp, appendCount(nil, track, row.SimTime))
	}
	return s.err
}
