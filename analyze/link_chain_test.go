package analyze

import (
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// chain is a chain of two callbacks, with what it has told: the time at which each input came, and its output.
type chain struct {
	*chainLink
	write, read *system.Callback
	input       *system.Subscription
	told        []string
}

func newChain() *chain {
	c := &chain{write: &system.Callback{Name: "write"}, read: &system.Callback{Name: "read"}, input: new(system.Subscription)}
	c.chainLink = newChainLink([]*system.Callback{c.write, c.read}, c.input, false, func(l linked) {
		came, output := int64(noTime), int64(noTime)
		if l.input != nil {
			came = l.input.start
		}
		if l.output != nil {
			output = l.output.at
		}
		c.told = append(c.told, fmt.Sprint(came, " ", output))
	})
	return c
}

func (c *chain) receives(start, end int64) {
	a := &arrival{callback: c.write, subscription: c.input, start: start, end: end}
	c.receive(a)
	c.execute(a)
}

func (c *chain) polls(within, at int64) {
	c.receive(&arrival{callback: c.write, subscription: c.input, polled: true, within: within, start: at, end: noTime})
}

func (c *chain) runs(callback *system.Callback, start, end int64) {
	c.execute(&arrival{callback: callback, start: start, end: end})
}

func (c *chain) publishes(start, at int64) {
	c.publish(&departure{callback: c.read, start: start, at: at})
}

// Each input is told of once, whatever becomes of it.
func TestChainLinkTellsOfEachInput(t *testing.T) {
	none := fmt.Sprint(" ", int64(noTime))
	for name, test := range map[string]struct {
		happens func(c *chain)
		want    []string
	}{
		"an execution without an end": {func(c *chain) {
			c.receives(10, noTime)
			c.runs(c.read, 20, 30)
		}, []string{"10" + none}},
		"two polls in one execution": {func(c *chain) {
			c.runs(c.write, 10, 15)
			c.polls(10, 11)
			c.polls(10, 12)
			c.runs(c.read, 20, 30)
			c.publishes(20, 25)
		}, []string{"11" + none, "12 25"}},
		"a poll in an execution without an end": {func(c *chain) {
			c.runs(c.write, 10, noTime)
			c.polls(10, 11)
		}, []string{"11" + none}},
		"the last execution twice": {func(c *chain) {
			c.receives(10, 15)
			c.runs(c.read, 20, 30)
			c.runs(c.read, 20, 30)
		}, []string{"10" + none}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain()
			test.happens(c)
			c.settle(1000)
			c.end()
			slices.Sort(c.told)
			if !slices.Equal(c.told, test.want) {
				t.Errorf("told %q, want %q", c.told, test.want)
			}
			if len(c.polled) > 0 || len(c.last) > 0 {
				t.Errorf("kept: %v, %v", c.polled, c.last)
			}
		})
	}
}

// Of executions without an end only so many are kept.
func TestChainLinkKeepsFewExecutionsWithoutAnEnd(t *testing.T) {
	c := newChain()
	for i := range int64(2 * keptExecutions) {
		c.runs(c.write, 10*i, noTime)
		c.polls(10*i, 10*i+1)
		c.settle(10*i + 10)
	}
	if len(c.endless) > keptExecutions || len(c.polled) > keptExecutions || len(c.told) < keptExecutions {
		t.Errorf("%d executions and %d polls are kept, %d told of", len(c.endless), len(c.polled), len(c.told))
	}
}
