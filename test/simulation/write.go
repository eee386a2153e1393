package simulation

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Write writes the dataset of each recording below a folder, with so few rows in a row group that queries have many
// windows.
func (s *System) Write(dir string, groupRows int) (datasets []*trace.Dataset, err error) {
	for _, r := range s.recordings {
		path := filepath.Join(dir, fmt.Sprintf("recording_%d", r.number))
		if err := r.write(path, groupRows); err != nil {
			return nil, fmt.Errorf("write recording %d: %w", r.number, err)
		}
		d, err := trace.Open(path)
		if err != nil {
			return nil, err
		}
		datasets = append(datasets, d)
	}
	return datasets, nil
}

func (r *recording) write(path string, groupRows int) error {
	w, err := writer.Create(path, writer.Options{RowGroupRows: groupRows})
	if err != nil {
		return err
	}
	session := trace.NewSession()
	session.Host.BootID = r.bootID
	session.Clock = r.clock()
	session.Ending = trace.EndingDuration
	session.Enter(trace.StateStopped, time.Unix(0, r.end))
	r.rows.Clocks = append(r.rows.Clocks, r.clock())
	return errors.Join(w.Write(&r.rows), w.WriteSession(session), w.Close())
}

// clock is that of the recorder: the monotonic one has begun with the simulation.
func (r *recording) clock() trace.Clock {
	return trace.Clock{MonotonicTimestamp: r.begin - origin, RealtimeTimestamp: r.begin + r.ahead, RealtimeOffset: origin + r.ahead}
}
