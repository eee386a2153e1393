package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Difference is what is wrong with an answer.
type Difference struct {
	Question string
	// Missing are rows that it lacks, Wrong those that it has and should not, in order.
	Missing, Wrong []string
}

// shownRows is how many rows of each side a Difference shows.
const shownRows = 4

// String shows the first rows.
func (d Difference) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d rows are missing, %d are wrong", d.Question, len(d.Missing), len(d.Wrong))
	for _, m := range d.Missing[:min(len(d.Missing), shownRows)] {
		fmt.Fprintf(&text, "\n  missing %s", m)
	}
	for _, w := range d.Wrong[:min(len(d.Wrong), shownRows)] {
		fmt.Fprintf(&text, "\n  wrong   %s", w)
	}
	return text.String()
}

// compare returns what differs between an answer and the rows that it must have, in any order.
func compare(question string, want []row, got []string) (d Difference, ok bool) {
	d.Question = question
	left := make(map[string]int)
	for _, text := range got {
		left[text]++
	}
	var second []row
	take := func(of row, text string) bool {
		if text == "" || left[text] == 0 {
			return false
		}
		left[text]--
		if of.told != nil {
			of.told(text)
		}
		return true
	}
	for _, of := range want {
		if !take(of, of.text) {
			second = append(second, of)
		}
	}
	for _, of := range second {
		if !take(of, of.other) {
			d.Missing = append(d.Missing, of.text)
		}
	}
	for text, count := range left {
		for range count {
			d.Wrong = append(d.Wrong, text)
		}
	}
	slices.Sort(d.Missing)
	slices.Sort(d.Wrong)
	return d, len(d.Missing) == 0 && len(d.Wrong) == 0
}

// Differences asks everything of the datasets of a system, in windows of so many rows, and returns what is wrong.
func (s *System) Differences(ctx context.Context, datasets []*trace.Dataset, windowRows int) (wrong []Difference, err error) {
	q, err := analyze.NewQuery(ctx, analyze.Filter{}, datasets...)
	if err != nil {
		return nil, err
	}
	q.WindowRows = windowRows
	s.nameChains(q.Architecture)
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	t := newTruth(s, q)
	check := func(question string, want []row, got []string, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", question, err)
		}
		if d, ok := compare(question, want, got); !ok {
			wrong = append(wrong, d)
		}
		return nil
	}
	for _, ask := range []func(context.Context, func(string, []row, []string, error) error) error{
		t.askCallbacks, t.askCommunications, t.askNodes, t.askPaths, t.askServices, t.askPeriods, t.askLoads,
	} {
		if err := ask(ctx, check); err != nil {
			return nil, err
		}
	}
	for i, d := range datasets {
		of, err := summary.Of(ctx, d, nil)
		if err != nil {
			return nil, err
		}
		if err := check("info", s.summaryRows(s.recordings[i]), summaryTexts(of), nil); err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// nameChains tells what a file would: which callbacks leave something to which.
func (s *System) nameChains(a *system.Architecture) {
	for _, known := range a.Nodes {
		find := func(c *callback) *system.Callback {
			for _, of := range known.Callbacks {
				if of.Address == c.address {
					return of
				}
			}
			return nil
		}
		s.eachNode(func(n *node) {
			if n.process.key != known.Process || n.handle != known.Handle {
				return
			}
			for _, c := range n.chain {
				if c.readsFrom != nil {
					known.VariablePassings = append(known.VariablePassings, system.VariablePassing{Write: find(c.readsFrom), Read: find(c)})
				}
			}
		})
	}
}

type checker = func(question string, want []row, got []string, err error) error

func (t *truth) askCallbacks(ctx context.Context, check checker) error {
	got, err := series(ctx, func(e *analyze.CallbackExecution) int64 { return e.Begin }, func(ctx context.Context, each func([]analyze.CallbackExecution) error) error {
		_, err := t.query.CallbackLatency(ctx, each)
		return err
	})
	return check("latency callback", t.executionRows(), got, err)
}

func (t *truth) askCommunications(ctx context.Context, check checker) error {
	got, err := series(ctx, (*analyze.CommunicationInstance).Published, func(ctx context.Context, each func([]analyze.CommunicationInstance) error) error {
		_, err := t.query.CommunicationLatency(ctx, each)
		return err
	})
	return check("latency communication", t.communicationRows(), got, err)
}

func (t *truth) askNodes(ctx context.Context, check checker) error {
	at := func(i *analyze.NodeInstance) int64 { return firstOf(i.Input, i.OutputStart, i.Publish) }
	for _, options := range []analyze.LinkOptions{{}, {Latest: true}, {EveryStart: true}} {
		got, err := series(ctx, at, func(ctx context.Context, each func([]analyze.NodeInstance) error) error {
			_, err := t.query.NodeLatency(ctx, options, each)
			return err
		})
		if err := check(fmt.Sprintf("latency node, %+v", options), t.nodeRows(options), got, err); err != nil {
			return err
		}
	}
	return nil
}

// pathLimit bounds the paths that are asked for.
const pathLimit = 50

func (t *truth) askPaths(ctx context.Context, check checker) error {
	paths, _, err := t.query.Architecture.Paths(ctx, system.PathQuery{Limit: pathLimit})
	if err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, func(p *system.Path) bool { return len(p.Nodes) == 1 && p.Nodes[0].Subscription == nil }) // nobody receives it
	var ways, totals, responses []row
	for _, path := range paths {
		p := t.track(path)
		ways, totals, responses = append(ways, p.wayRows()...), append(totals, p.totalRow()), append(responses, p.responseRows()...)
	}
	var gotWays, gotTotals []string
	var results []analyze.PathHop
	at := func(i *analyze.PathHopInstance) int64 { return firstOf(i.PathBegin, trace.Some(i.Begin)) }
	_, err = series(ctx, at, func(ctx context.Context, each func([]analyze.PathHopInstance) error) (err error) {
		results, err = t.query.PathLatency(ctx, paths, analyze.PathOptions{}, func(instances []analyze.PathHopInstance) error {
			gotWays = addWays(gotWays, instances)
			return each(instances)
		})
		return err
	})
	for _, of := range results {
		if of.Kind == analyze.HopPath {
			gotTotals = append(gotTotals, totalText(cmp.Or(of.Path, of.Name), of.Count, of.Messages, of.Dropped))
		}
	}
	if err := check("latency path", ways, gotWays, err); err != nil {
		return err
	}
	if err := check("latency path, totals", totals, gotTotals, nil); err != nil {
		return err
	}
	got, err := series(ctx, func(i *analyze.ResponseTimeInstance) int64 { return i.Input }, func(ctx context.Context, each func([]analyze.ResponseTimeInstance) error) error {
		_, err := t.query.ResponseTime(ctx, paths, analyze.PathOptions{}, each, nil)
		return err
	})
	return check("latency response-time", responses, got, err)
}

// addWays adds the ways that hops tell of: those of a way come one after the other.
func addWays(ways []string, hops []analyze.PathHopInstance) []string {
	for _, i := range hops {
		switch i.Hop {
		case 0:
			ways = append(ways, i.Name+":")
			continue
		case 1:
			ways[len(ways)-1] += fmt.Sprintf(" %d", i.Begin)
		}
		ways[len(ways)-1] += fmt.Sprintf(" %d", i.End.Value)
	}
	return ways
}

func (t *truth) askServices(ctx context.Context, check checker) error {
	got, err := series(ctx, func(c *analyze.ServiceCall) int64 {
		return firstOf(c.RequestSent, c.RequestTaken, c.ResponseSent, c.ResponseTaken)
	}, func(ctx context.Context, each func([]analyze.ServiceCall) error) error {
		_, err := t.query.ServiceLatency(ctx, each)
		return err
	})
	return check("latency service", t.callRows(), got, err)
}

// interval is that of the frequencies and loads which are asked for, in nanoseconds.
const interval = int64(1_000_000)

func (t *truth) askPeriods(ctx context.Context, check checker) error {
	for subject, all := range map[analyze.Subject][]repeating{
		analyze.Callbacks: t.repeatingCallbacks(), analyze.Topics: t.repeatingPublishers(),
		analyze.Subscriptions: t.repeatingSubscriptions(), analyze.Communications: t.repeatingCommunications(),
	} {
		var periods []analyze.Period
		got, err := series(ctx, func(i *analyze.PeriodInstance) int64 { return i.Begin }, func(ctx context.Context, each func([]analyze.PeriodInstance) error) (err error) {
			periods, err = t.query.Periods(ctx, subject, false, each)
			return err
		})
		if err := check(fmt.Sprintf("period of %ss", subject), periodRows(all), got, err); err != nil {
			return err
		}
		if err := check(fmt.Sprintf("lateness of %ss", subject), latenessRows(all), latenessTexts(periods, all), nil); err != nil {
			return err
		}
		for _, common := range []bool{false, true} {
			got, err = series(ctx, func(i *analyze.FrequencyInstance) int64 { return i.Begin }, func(ctx context.Context, each func([]analyze.FrequencyInstance) error) error {
				_, err := t.query.Frequencies(ctx, subject, false, analyze.Intervals{Length: interval, Common: common}, each)
				return err
			})
			if err := check(fmt.Sprintf("frequency of %ss, common base %t", subject, common), frequencyRows(all, interval, common), got, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *truth) askLoads(ctx context.Context, check checker) error {
	var loads []analyze.Load
	got, err := series(ctx, func(i *analyze.LoadInstance) int64 { return i.Begin }, func(ctx context.Context, each func([]analyze.LoadInstance) error) (err error) {
		loads, err = t.query.Loads(ctx, interval, each)
		return err
	})
	totals, instances := t.loadRows(interval)
	if err := check("load in intervals", instances, got, err); err != nil {
		return err
	}
	var texts []string
	for _, l := range loads {
		texts = append(texts, fmt.Sprintf("%+v", l))
	}
	return check("load", totals, texts, nil)
}
