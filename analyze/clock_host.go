package analyze

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// clockHost is a clock that datasets share: CLOCK_MONOTONIC of one boot of a machine. Its times are that clock plus
// base, so that they are real time as the first of its datasets has it.
type clockHost struct {
	name     string
	bootID   string
	base     int64
	measured []trace.Clock // in the order of time
}

// clockHosts are the clocks of a query's datasets.
type clockHosts struct {
	list []*clockHost
	of   []int // by dataset
	// constants bring the times of datasets on their hosts' clocks.
	constants []int64
}

// newClockHosts finds the clocks. What they were measured to be is read only if there are several.
func newClockHosts(ctx context.Context, datasets []*trace.Dataset, warn func(error) error) (*clockHosts, error) {
	hosts := &clockHosts{of: make([]int, len(datasets)), constants: make([]int64, len(datasets))}
	byBoot := make(map[string]int)
	for i, d := range datasets {
		boot, offset, name := "", int64(0), ""
		if s := d.Session(); s != nil {
			boot, offset, name = s.Host.BootID, s.Clock.RealtimeOffset, s.Host.Name
		}
		known, ok := byBoot[boot]
		if !ok || boot == "" {
			known = len(hosts.list)
			byBoot[boot] = known
			if name == "" {
				name = filepath.Base(d.Dir())
			}
			hosts.list = append(hosts.list, &clockHost{name: name, bootID: boot, base: offset})
		}
		hosts.of[i], hosts.constants[i] = known, hosts.list[known].base-offset
	}
	hosts.tellApart()
	if len(hosts.list) < 2 {
		return hosts, nil
	}
	for i, d := range datasets {
		if err := warn(hosts.list[hosts.of[i]].readMeasured(ctx, d)); err != nil {
			return nil, err
		}
	}
	for _, h := range hosts.list {
		slices.SortFunc(h.measured, func(a, b trace.Clock) int { return compareTimes(a.MonotonicTimestamp, b.MonotonicTimestamp) })
		h.measured = slices.CompactFunc(h.measured, func(a, b trace.Clock) bool { return a.MonotonicTimestamp == b.MonotonicTimestamp })
	}
	return hosts, nil
}

// tellApart gives hosts of one name different ones: a machine that was booted twice has two clocks.
func (hosts *clockHosts) tellApart() {
	for i, h := range hosts.list {
		if slices.ContainsFunc(hosts.list[:i], func(other *clockHost) bool { return other.name == h.name }) {
			h.name = fmt.Sprintf("%s#%d", h.name, i+1)
		}
	}
}

// readMeasured reads the measurements of a dataset of the host. Damaged segments are left to who calls.
func (h *clockHost) readMeasured(ctx context.Context, d *trace.Dataset) error {
	if s := d.Session(); s != nil {
		h.measured = append(h.measured, s.Clock)
	}
	return trace.Scan(ctx, d, trace.TableClock, func(rows []trace.Clock) error {
		h.measured = append(h.measured, rows...)
		return nil
	})
}

// realTime are the points by which real time of the host is followed: what is to be added to its times.
func (h *clockHost) realTime() []clockPoint {
	points := make([]clockPoint, len(h.measured))
	for i := range h.measured {
		m := &h.measured[i]
		points[i] = clockPoint{at: m.MonotonicTimestamp + h.base, correction: m.RealtimeOffset - h.base}
	}
	return points
}

// index returns the host of that name.
func (hosts *clockHosts) index(name string) int {
	return slices.IndexFunc(hosts.list, func(h *clockHost) bool { return h.name == name })
}

// names are those of the hosts.
func (hosts *clockHosts) names() (names []string) {
	for _, h := range hosts.list {
		names = append(names, h.name)
	}
	return names
}
