package view

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// comparison is the answer of `diff`, and what its latencies are of: of each a callback or a row of communications. It
// is null where that is not among what is shown.
type comparison struct {
	*analyze.Difference
	Callbacks      []*int32 `json:"callbacks"`
	Communications []*int   `json:"communications"`
}

// compare is nil without a baseline.
func (v *View) compare(ctx context.Context) (*comparison, error) {
	if len(v.options.Baseline) == 0 {
		return nil, nil
	}
	difference, err := analyze.Diff(ctx, v.options.Baseline, v.options.Datasets, v.options.Diff)
	if err != nil {
		return nil, err
	}
	communications, err := v.communicationLatencies(ctx)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int)
	for i := range communications {
		addFirst(rows, communications[i].Lasting(), i)
	}
	callbacks, err := v.lastingCallbacks(ctx)
	if err != nil {
		return nil, err
	}
	c := &comparison{Difference: difference, Callbacks: []*int32{}, Communications: []*int{}}
	for i := range difference.Latencies {
		l := &difference.Latencies[i]
		c.Callbacks = append(c.Callbacks, found(callbacks, l.Name, l.Kind == analyze.ComparedCallback))
		c.Communications = append(c.Communications, found(rows, l.Name, l.Kind == analyze.ComparedCommunication))
	}
	return c, nil
}

// lastingCallbacks numbers callbacks by what is the same from run to run: of several the first.
func (v *View) lastingCallbacks(ctx context.Context) (map[string]int32, error) {
	numbers := make(map[string]int32)
	err := v.plain.all(ctx, func(*analyze.Query) error {
		byNumber := make([]*system.Callback, len(v.entities.callbacks))
		for c, number := range v.entities.callbacks {
			byNumber[number] = c
		}
		for number, c := range byNumber {
			label := analyze.LabelOf(c)
			addFirst(numbers, label.Lasting(), int32(number))
		}
		return nil
	})
	return numbers, err
}

// found is the number of a name, nil if it has none, or is of another kind.
func found[T any](numbers map[string]T, name string, ofKind bool) *T {
	number, known := numbers[name]
	if !known || !ofKind {
		return nil
	}
	return &number
}
