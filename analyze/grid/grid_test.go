package grid_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/grid"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestUncertainGrid(t *testing.T) {
	for name, test := range map[string]struct {
		grid            grid.Grid
		least, greatest int64
		want            bool
	}{
		"no timer":                         {grid: grid.Grid{}, greatest: 100},
		"with an origin":                   {grid: grid.Grid{Period: 100, Origin: trace.Some[int64](0)}, greatest: 99},
		"less than half a period":          {grid: grid.Grid{Period: 100}, least: -20, greatest: 29},
		"half a period between two starts": {grid: grid.Grid{Period: 100}, least: -20, greatest: 30, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.grid.IsUncertain(test.least, test.greatest); got != test.want {
				t.Errorf("from %d to %d: %v", test.least, test.greatest, got)
			}
		})
	}
}

func TestGrid(t *testing.T) {
	for name, test := range map[string]struct {
		grid   grid.Grid
		starts []int64
		points []int64
		late   []int64
	}{
		"from its init on": {
			grid: grid.Grid{Period: 100_000, Origin: trace.Some[int64](50)}, starts: []int64{100_150, 200_050, 399_000, 450_049},
			points: []int64{1, 2, 3, 4}, late: []int64{100, 0, 98_950, 49_999},
		},
		"a clock in steps is too early": {
			grid: grid.Grid{Period: 100_000, Origin: trace.Some[int64](0)}, starts: []int64{99_001, 98_999}, points: []int64{1, 0}, late: []int64{-999, 98_999},
		},
		"from its first start on": {
			grid: grid.Grid{Period: 100_000}, starts: []int64{500_000, 590_000, 720_000}, points: []int64{0, 1, 2}, late: []int64{0, -10_000, 20_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, at := range test.starts {
				test.grid.Start(at)
				if point, late := test.grid.Point(at), test.grid.Lateness(at); point != test.points[i] || late != test.late[i] || test.grid.At(point)+late != at {
					t.Errorf("%d is at point %d, late by %d; want %d, %d", at, point, late, test.points[i], test.late[i])
				}
			}
		})
	}
}
