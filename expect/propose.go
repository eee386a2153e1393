package expect

import (
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// What is proposed beside what was measured: medians and rates hold from run to run, and are bounded by a margin. High
// percentiles depend on what else the machine does.
const (
	// leastCount is how often something has to have come.
	leastCount = 20
	// tailFactor and tailSlack bound the percentiles of tails.
	tailFactor = 2
	tailSlack  = 5 * time.Millisecond
	// maxProposedPaths is how many paths are proposed, the shortest.
	maxProposedPaths = 50
)

// tails are the percentiles that are bounded, of which ten values at least lie above.
var tails = []struct {
	column string
	count  float64
}{{"p90", 100}, {"p99", 1000}}

// proposal is what is proposed of a subject.
type proposal struct {
	of string
	// slack is added to what a median may be: a short one is mostly the scheduler's.
	slack time.Duration
	// rate says that the rate is bounded, zero are columns that have to be 0 if they were.
	rate bool
	zero []string
}

var proposals = []proposal{
	{"topic", 100 * time.Microsecond, true, nil},
	{"callback", 100 * time.Microsecond, false, nil},
	{"timer", time.Millisecond, false, nil},
	{"communication", time.Millisecond, false, []string{"lost"}},
	{pathSubject, time.Millisecond, false, nil},
}

// proposed is an expectation as it is written.
type proposed struct {
	Of      string                 `yaml:"of"`
	Path    writtenText            `yaml:"path,omitempty"`
	Where   map[string]writtenText `yaml:"where,omitempty"`
	AtLeast map[string]any         `yaml:"at-least,omitempty"`
	AtMost  map[string]any         `yaml:"at-most,omitempty"`

	least, most map[string]float64
	// own says that it is not only of what every node has.
	own bool
}

// writtenText is a text of a recording. One with control characters is written in quotes: not every one of the blocks
// that the encoder takes for texts of several lines can be read again.
type writtenText string

// MarshalYAML implements yaml.Marshaler.
func (t writtenText) MarshalYAML() (any, error) {
	if !strings.ContainsFunc(string(t), unicode.IsControl) {
		return string(t), nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: string(t)}, nil
}

// Run is a recording of a system: its datasets, and how to ask them.
type Run struct {
	Datasets []*trace.Dataset
	Ask      Ask
}

// Propose writes a file that each of some runs of a system meets, with a margin: a share, such as 0.05, by which
// medians and rates may differ. It says of each publisher, callback, timer, pair of a publisher and a subscription and
// path that came often enough how often it comes and how long it takes, but for what every node has. Of several runs
// the bounds are the widest; what did not come in all of them has none. It fails with analyze.ErrNothingSelected if
// nothing came often enough.
func Propose(ctx context.Context, w io.Writer, runs []Run, margin float64) (warnings []string, err error) {
	var datasets []*trace.Dataset
	var all []*proposed
	seldom := 0 // in some runs only
	for i, run := range runs {
		datasets = append(datasets, run.Datasets...)
		of, warned, err := proposeOf(ctx, run.Ask, margin)
		if err != nil {
			return nil, err
		}
		for _, text := range warned {
			if !slices.Contains(warnings, text) {
				warnings = append(warnings, text)
			}
		}
		if i > 0 {
			var only int
			of, only = inBoth(all, of)
			seldom += only
		}
		all = of
	}
	complete, err := judgeComplete(ctx, datasets)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one *proposed) bool { return len(one.most) == 0 })
	if seldom > 0 {
		warnings = append(warnings, fmt.Sprintf("nothing is expected of %d that did not come in all recordings", seldom))
	}
	if len(all) == 0 {
		return warnings, fmt.Errorf("%w: nothing came %d times or more", analyze.ErrNothingSelected, leastCount)
	}
	if left := len(all) - maxExpectations; left > 0 {
		all = all[:maxExpectations]
		warnings = append(warnings, fmt.Sprintf("%d expectations are left out: a file has at most %d", left, maxExpectations))
	}
	for _, one := range all {
		one.write(subjectNamed(one.Of))
	}
	return warnings, writeProposal(w, complete, margin, len(runs), all)
}

// proposeOf proposes of one run.
func proposeOf(ctx context.Context, ask Ask, margin float64) (all []*proposed, warnings []string, err error) {
	questions, err := questionsToPropose(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	answers, warnings, err := askAll(ctx, questions, ask)
	if err != nil {
		return nil, nil, err
	}
	byPlace := map[string]*proposed{}
	for i, e := range questions {
		subject := subjectNamed(e.Of)
		for _, r := range answers[i] {
			if !subject.isNamed(r) { // what is said of a row without a name would be said of others, too
				continue
			}
			one := subject.propose(r, margin)
			if there := byPlace[one.place()]; there != nil {
				there.widen(one)
				there.own = there.own || one.own
			} else {
				byPlace[one.place()] = one
				all = append(all, one)
			}
		}
	}
	return slices.DeleteFunc(all, func(one *proposed) bool { return !one.own }), warnings, nil
}

// inBoth is what was proposed of runs before and of another one, with the widest bounds, and how much else there was.
func inBoth(before, another []*proposed) (both []*proposed, only int) {
	byPlace := map[string]*proposed{}
	for _, one := range another {
		byPlace[one.place()] = one
	}
	for _, one := range before {
		if other := byPlace[one.place()]; other != nil {
			one.widen(other)
			both = append(both, one)
		}
	}
	return both, len(before) + len(another) - 2*len(both)
}

// questionsToPropose ask about everything of which something is proposed: also about the paths of a system along which
// it is known how messages get through nodes.
func questionsToPropose(ctx context.Context, ask Ask) (questions []Expectation, err error) {
	q, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	paths, _, err := q.Architecture.Paths(ctx, system.PathQuery{Limit: maxProposedPaths})
	if err != nil {
		return nil, err
	}
	for _, p := range proposals {
		if p.of != pathSubject {
			questions = append(questions, Expectation{Of: p.of})
		}
	}
	for _, p := range paths {
		if text := p.String(); !slices.ContainsFunc(questions, func(e Expectation) bool { return e.Path == text }) {
			questions = append(questions, Expectation{Of: pathSubject, Path: text})
		}
	}
	return questions, nil
}

// isNamed reports whether all columns tell of a row that name it.
func (s *subject) isNamed(r row) bool {
	return !slices.ContainsFunc(s.labels, func(label string) bool { return r.texts[label] == "" })
}

// propose bounds what a row has, if that came often enough.
func (s *subject) propose(r row, margin float64) *proposed {
	p := &proposed{Of: s.name, least: map[string]float64{}, most: map[string]float64{}, own: !r.isStandard}
	if s.name == pathSubject {
		p.Path = writtenText(r.texts["path"])
	} else {
		p.Where = map[string]writtenText{}
		for _, label := range s.labels {
			p.Where[label] = writtenText(regexp.QuoteMeta(r.texts[label]))
		}
	}
	if of := slices.IndexFunc(proposals, func(of proposal) bool { return of.of == s.name }); r.numbers["count"] >= leastCount {
		p.bound(r, margin, proposals[of])
	}
	return p
}

// place tells what a proposal is of.
func (p *proposed) place() string { return fmt.Sprintf("%q %q %q", p.Of, p.Path, p.Where) }

func (p *proposed) bound(r row, margin float64, of proposal) {
	if median, ok := r.numbers["p50"]; ok {
		p.most["p50"] = median + margin*math.Abs(median) + float64(of.slack)
	}
	for _, tail := range tails {
		if value, ok := r.numbers[tail.column]; ok && r.numbers["count"] >= tail.count {
			p.most[tail.column] = tailFactor*max(value, 0) + float64(tailSlack)
		}
	}
	if perSecond, ok := r.numbers["rate"]; ok && of.rate {
		p.least["rate"], p.most["rate"] = perSecond*(1-margin), perSecond*(1+margin)
	}
	for _, column := range of.zero {
		if count, ok := r.numbers[column]; ok && count == 0 {
			p.most[column] = 0
		}
	}
}

// widen bounds what two rows have: those that cannot be told from each other, or those of two runs. What only one of
// them has is not bounded.
func (p *proposed) widen(other *proposed) {
	for column, value := range p.least {
		if also, ok := other.least[column]; ok {
			p.least[column] = min(value, also)
		} else {
			delete(p.least, column)
		}
	}
	for column, value := range p.most {
		if also, ok := other.most[column]; ok {
			p.most[column] = max(value, also)
		} else {
			delete(p.most, column)
		}
	}
}

// write rounds the bounds outwards.
func (p *proposed) write(s *subject) {
	written := func(of map[string]float64, round func(float64) float64) map[string]any {
		values := map[string]any{}
		for column, value := range of {
			if value = significant(value, round); s.isDuration(column) {
				values[column] = s.exactly(column, value)
			} else {
				values[column] = value
			}
		}
		return values
	}
	p.AtLeast, p.AtMost = written(p.least, math.Floor), written(p.most, math.Ceil)
}

// significant rounds to three digits.
func significant(value float64, round func(float64) float64) float64 {
	if value == 0 {
		return 0
	}
	digits := 2 - math.Floor(math.Log10(math.Abs(value)))
	if digits < 0 {
		unit := math.Pow(10, -digits)
		return round(value/unit) * unit
	}
	parts := math.Pow(10, digits) // whole numbers divided by it are written in few digits
	return round(value*parts) / parts
}

func writeProposal(w io.Writer, complete Verdict, margin float64, runs int, all []*proposed) error {
	var text strings.Builder
	from := "a recording"
	if runs > 1 {
		from = fmt.Sprintf("%d recordings", runs)
	}
	fmt.Fprintf(&text, "# Proposed from %s: medians and rates may differ by %s %%. Change what should be otherwise.\n",
		from, strconv.FormatFloat(margin*100, 'g', 6, 64))
	if complete.Met {
		fmt.Fprintf(&text, "%s: true\n", keyComplete)
	} else {
		fmt.Fprintf(&text, "# %s: true is not proposed: %q\n", keyComplete, complete.Measured)
	}
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(map[string][]*proposed{keyExpectations: all}); err != nil {
		return err
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}
