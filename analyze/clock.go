package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// clockCorrection brings the times of one dataset on the clock that all datasets of a query share. A dataset's times
// are monotonic ones plus the offset to real time at its start. Recordings of one boot share the monotonic clock, and
// differ by a constant; those of different hosts share real time only, as far as the hosts are synchronized.
type clockCorrection struct {
	constant int64
	// points are the offsets of real time to the dataset's times, by the dataset's time; nil where the constant is all.
	points []clockPoint
	// uncertainty bounds the error of the correction, in nanoseconds, besides that of the hosts' synchronization.
	uncertainty int64
}

type clockPoint struct {
	at, correction int64
}

// correct returns the time on the common clock.
func (c *clockCorrection) correct(at int64) int64 {
	if len(c.points) == 0 {
		return at + c.constant
	}
	i, _ := slices.BinarySearchFunc(c.points, at, func(p clockPoint, at int64) int { return compareTimes(p.at, at) })
	switch {
	case i == 0:
		return at + c.points[0].correction
	case i == len(c.points):
		return at + c.points[i-1].correction
	}
	a, b := c.points[i-1], c.points[i]
	share := float64(at-a.at) / float64(b.at-a.at)
	return at + a.correction + int64(share*float64(b.correction-a.correction))
}

func compareTimes(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// clockCorrections returns the correction of each dataset. Damaged segments of clock are left to warn.
func clockCorrections(ctx context.Context, datasets []*trace.Dataset, warn func(error) error) ([]clockCorrection, error) {
	corrections := make([]clockCorrection, len(datasets))
	if len(datasets) < 2 {
		return corrections, nil
	}
	oneBoot := true
	for _, d := range datasets {
		s, first := d.Session(), datasets[0].Session()
		oneBoot = oneBoot && s != nil && first != nil && s.Host.BootID != "" && s.Host.BootID == first.Host.BootID
	}
	for i, d := range datasets {
		if oneBoot {
			corrections[i].constant = datasets[0].Session().Clock.RealtimeOffset - d.Session().Clock.RealtimeOffset
			continue
		}
		if d.Session() == nil {
			continue
		}
		if err := warn(corrections[i].follow(ctx, d)); err != nil {
			return nil, err
		}
	}
	return corrections, nil
}

// follow makes the correction follow real time.
func (c *clockCorrection) follow(ctx context.Context, d *trace.Dataset) error {
	used := d.Session().Clock
	c.uncertainty = used.Uncertainty
	err := trace.Scan(ctx, d, trace.TableClock, func(rows []trace.Clock) error {
		for i := range rows {
			row := &rows[i]
			c.uncertainty = max(c.uncertainty, row.Uncertainty)
			c.points = append(c.points, clockPoint{at: row.MonotonicTimestamp + used.RealtimeOffset, correction: row.RealtimeOffset - used.RealtimeOffset})
		}
		return nil
	})
	slices.SortFunc(c.points, func(a, b clockPoint) int { return compareTimes(a.at, b.at) })
	c.points = slices.CompactFunc(c.points, func(a, b clockPoint) bool { return a.at == b.at })
	// Between two measurements real time may have been stepped at any moment.
	var step int64
	for i := 1; i < len(c.points); i++ {
		step = max(step, abs(c.points[i].correction-c.points[i-1].correction))
	}
	c.uncertainty += step
	return err
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
