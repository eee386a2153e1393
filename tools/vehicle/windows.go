package main

import (
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/tools/busy"
)

const (
	window = 200 * time.Millisecond
	// paceTimes is how often in a window it is measured how fast the processor is.
	paceTimes = 4
	// steadyPace is how much longer than at best the same work may take while a program is measured. Up to there a
	// callback took at most an eighth longer, untraced and traced; beyond it up to one and a half times as long.
	steadyPace = 1.4
)

// watched is the program that is measured.
type watched struct {
	meter *busy.Meter
	pid   int32
	pace  *busy.Pace
}

// windows are spans of time, one behind the other.
type windows []struct {
	taken float64       // nanoseconds of a callback
	pace  time.Duration // of the processor
}

// measure measures what a callback takes in each of several windows.
func (w watched) measure(count int) (windows, error) {
	found := make(windows, count)
	for i := range found {
		var sum time.Duration
		var times int // more than paceTimes where a window was too short
		taken, err := w.meter.TimePerCallbackWhile(func() error {
			for range paceTimes {
				time.Sleep(window / paceTimes)
				pace, err := w.pace.Where(w.pid)
				if err != nil {
					return err
				}
				sum += pace
				times++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		found[i].taken, found[i].pace = taken, sum/time.Duration(times)
	}
	return found, nil
}

// steady are those in which the processor was about as fast as it can be, by number.
func (w windows) steady(pace *busy.Pace) map[int]float64 {
	steady := map[int]float64{}
	for i := range w {
		if float64(w[i].pace) <= steadyPace*float64(pace.Fastest) {
			steady[i] = w[i].taken
		}
	}
	return steady
}

// median returns that of steady windows, and false if there are none.
func (w windows) median(pace *busy.Pace) (float64, bool) {
	var taken []float64
	for _, nanoseconds := range w.steady(pace) {
		taken = append(taken, nanoseconds)
	}
	if len(taken) == 0 {
		return 0, false
	}
	return measure.Median(taken), true
}
