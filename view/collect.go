package view

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The subjects and measures of series.
const (
	ofCallback      = "callback"
	ofCommunication = "communication"
	ofTopic         = "topic"

	latencyMeasure   = "latency"
	periodMeasure    = "period"
	frequencyMeasure = "frequency"
)

// frequencyInterval is the commands' for frequencies.
const frequencyInterval = int64(time.Second)

// collected are the instances of one subject. Times are Unix nanoseconds, values nanoseconds or Hz.
type collected struct {
	times  []int64
	values []float64
	// missing are the times of instances without a value: executions without an end, messages that were not received.
	missing []int64
}

// Len, Less and Swap are for sort: instances with a value in the order of time.
func (c *collected) Len() int { return len(c.times) }

// Less tells whether an instance was before another one.
func (c *collected) Less(i, j int) bool { return c.times[i] < c.times[j] }

// Swap exchanges two instances.
func (c *collected) Swap(i, j int) {
	c.times[i], c.times[j] = c.times[j], c.times[i]
	c.values[i], c.values[j] = c.values[j], c.values[i]
}

func (c *collected) add(at int64, value trace.Optional[int64]) {
	if value.Valid {
		c.times, c.values = append(c.times, at), append(c.values, float64(value.Value))
	} else {
		c.missing = append(c.missing, at)
	}
}

// collection are the instances of those subjects that are wanted, by what tells rows apart.
type collection[L comparable] map[L]*collected

// wanting is a collection of subjects with these labels, which is empty so far.
func wanting[L comparable](labels []L) collection[L] {
	c := make(collection[L], len(labels))
	for _, label := range labels {
		c[label] = new(collected)
	}
	return c
}

// addAll adds the instances of those that are wanted.
func addAll[L comparable, I any](to collection[L], instances []I, label func(*I) L, value func(*I) (int64, trace.Optional[int64])) {
	for i := range instances {
		if c := to[label(&instances[i])]; c != nil {
			c.add(value(&instances[i]))
		}
	}
}

// callbackSeries collects latencies of callbacks.
func callbackSeries(ctx context.Context, q *analyze.Query, to collection[analyze.CallbackLabel]) error {
	_, err := q.CallbackLatency(ctx, func(instances []analyze.CallbackExecution) error {
		addAll(to, instances, func(i *analyze.CallbackExecution) analyze.CallbackLabel { return i.CallbackLabel },
			func(i *analyze.CallbackExecution) (int64, trace.Optional[int64]) { return i.Begin, i.Latency })
		return nil
	})
	return err
}

// communicationSeries collects latencies of communications.
func communicationSeries(ctx context.Context, q *analyze.Query, to collection[analyze.CommunicationLabel]) error {
	_, err := q.CommunicationLatency(ctx, func(instances []analyze.CommunicationInstance) error {
		addAll(to, instances, func(i *analyze.CommunicationInstance) analyze.CommunicationLabel { return i.CommunicationLabel },
			func(i *analyze.CommunicationInstance) (int64, trace.Optional[int64]) { return i.Published(), i.Latency })
		return nil
	})
	return err
}

// periodicSeries collects periods or frequencies.
func periodicSeries(ctx context.Context, q *analyze.Query, subject analyze.Subject, measure string, to collection[analyze.PeriodicLabel]) error {
	if measure == periodMeasure {
		_, err := q.Periods(ctx, subject, false, func(instances []analyze.PeriodInstance) error {
			addAll(to, instances, func(i *analyze.PeriodInstance) analyze.PeriodicLabel { return i.PeriodicLabel },
				func(i *analyze.PeriodInstance) (int64, trace.Optional[int64]) { return i.Begin, trace.Some(i.Period) })
			return nil
		})
		return err
	}
	_, err := q.Frequencies(ctx, subject, false, analyze.Intervals{Length: frequencyInterval}, func(instances []analyze.FrequencyInstance) error {
		for i := range instances {
			if c := to[instances[i].PeriodicLabel]; c != nil {
				c.times, c.values = append(c.times, instances[i].Begin), append(c.values, instances[i].Rate)
			}
		}
		return nil
	})
	return err
}

// exactly is a pattern that fits one name only; none fits any. It is anchored: without that, a long name that repeats
// itself takes seconds to be compared.
func exactly(name string) []*regexp.Regexp {
	if name == "" {
		return nil
	}
	return []*regexp.Regexp{regexp.MustCompile(`\A` + regexp.QuoteMeta(name) + `\z`)}
}

// rowOf returns the row that a number means.
func rowOf[T any](rows []T, id int64, what string) (*T, error) {
	if id >= int64(len(rows)) {
		return nil, fmt.Errorf("%w: there are %d %s", ErrBadKey, len(rows), what)
	}
	return &rows[id], nil
}
