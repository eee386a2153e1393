package expect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Verdict is whether something is as it is expected.
type Verdict struct {
	Expectation string `report:"expectation"`
	Of          string `report:"of,drop=2"`
	// What names the row that was looked at.
	What     string `report:"what"`
	Column   string `report:"column"`
	Expected string `report:"expected"`
	Measured string `report:"measured"`
	Met      bool   `report:"met,drop=1"`

	unnamed bool // the expectation
}

// maxVerdicts bounds how many a file may ask for of a recording.
const maxVerdicts = 1_000_000

// completeName is the name of the expectation that nothing was lost.
const completeName = "complete"

// Ask makes a query to the datasets that are judged.
type Ask func(ctx context.Context) (*analyze.Query, error)

// Judge holds datasets of one system against a file. An expectation is met if at least one row fits, and all that fit
// are within all bounds. A number that is not known is within none. warnings say what the answers lack.
func Judge(ctx context.Context, f *File, datasets []*trace.Dataset, ask Ask) (verdicts []Verdict, warnings []string, err error) {
	if f.Complete {
		verdict, err := judgeComplete(ctx, datasets)
		if err != nil {
			return nil, nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	rows, warnings, err := askAll(ctx, f.Expectations, ask)
	if err != nil {
		return nil, nil, err
	}
	for i := range f.Expectations {
		verdicts = append(verdicts, f.Expectations[i].judge(rows[i])...)
		if len(verdicts) > maxVerdicts {
			return nil, nil, fmt.Errorf("%w: they ask for more than %d checks of this recording", ErrFile, maxVerdicts)
		}
	}
	return verdicts, warnings, nil
}

// askAll returns the rows of each expectation. Each subject is asked once.
func askAll(ctx context.Context, expectations []Expectation, ask Ask) (rows [][]row, warnings []string, err error) {
	rows = make([][]row, len(expectations))
	for _, subject := range subjects() {
		var places []int
		var about []*Expectation
		for i := range expectations {
			if expectations[i].Of == subject.name {
				places, about = append(places, i), append(about, &expectations[i])
			}
		}
		if len(about) == 0 {
			continue
		}
		q, err := ask(ctx)
		if err != nil {
			return nil, nil, err
		}
		answers, err := subject.ask(ctx, q, about)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", subject.name, err)
		}
		for i, place := range places {
			rows[place] = answers[i]
		}
		for _, warning := range q.Warnings {
			if !slices.Contains(warnings, warning) { // each query says what is known of the recording
				warnings = append(warnings, warning)
			}
		}
	}
	return rows, warnings, nil
}

func (e *Expectation) judge(rows []row) (verdicts []Verdict) {
	subject := subjectNamed(e.Of)
	fits := 0
	for _, r := range rows {
		if !e.fits(r) {
			continue
		}
		fits++
		for _, b := range e.Bounds {
			v := Verdict{unnamed: e.unnamed, Expectation: e.Name, Of: e.Of, What: subject.label(r), Column: b.Column, Expected: subject.describe(b), Measured: "not known"}
			if number, ok := r.numbers[b.Column]; ok {
				v.Measured = subject.exactly(b.Column, number)
				v.Met = b.holds(number)
			}
			verdicts = append(verdicts, v)
		}
	}
	if fits == 0 || len(e.Bounds) == 0 {
		verdicts = append(verdicts, Verdict{
			unnamed: e.unnamed, Expectation: e.Name, Of: e.Of, Column: "rows", Expected: "at least 1", Measured: strconv.Itoa(fits), Met: fits > 0,
		})
	}
	return verdicts
}

func (e *Expectation) fits(r row) bool {
	for _, c := range e.Where {
		if text, ok := r.texts[c.Column]; !ok || !c.Pattern.MatchString(text) {
			return false
		}
	}
	return true
}

func (b *Bound) holds(number float64) bool {
	if b.Least {
		return number >= b.Value
	}
	return number <= b.Value
}

// label names a row for a reader.
func (s *subject) label(r row) string {
	var names []string
	for _, column := range s.labels {
		if text := r.texts[column]; text != "" {
			names = append(names, text)
		}
	}
	return strings.Join(names, " ")
}

func (s *subject) describe(b Bound) string {
	if b.Least {
		return "at least " + s.exactly(b.Column, b.Value)
	}
	return "at most " + s.exactly(b.Column, b.Value)
}

// exactly writes a number of a column with all its digits, so that it can be read again.
func (s *subject) exactly(column string, number float64) string {
	if s.isDuration(column) {
		return time.Duration(number).String()
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// judgeComplete tells whether the datasets have all that happened.
func judgeComplete(ctx context.Context, datasets []*trace.Dataset) (Verdict, error) {
	var lacks []string
	for _, d := range datasets {
		s, err := summary.Of(ctx, d, nil)
		if err != nil {
			return Verdict{}, err
		}
		lacks = append(lacks, missing(s)...)
	}
	v := Verdict{Expectation: completeName, Of: "recording", Expected: "nothing was lost", Measured: "nothing was lost", Met: len(lacks) == 0}
	if !v.Met {
		v.Measured = strings.Join(lacks, "; ")
	}
	return v, nil
}

// missing says what a dataset lacks of what happened.
func missing(s *summary.Summary) (lacks []string) {
	for _, loss := range s.Losses {
		lacks = append(lacks, fmt.Sprintf("%s records of kind %s were lost: %s", report.Count(loss.Count), loss.Kind, loss.Reason))
	}
	for _, u := range s.Unarmed {
		lacks = append(lacks, fmt.Sprintf("%s of PID %d was not probed for %s", u.File, u.PID, report.Duration(u.Duration)))
	}
	if s.Session != nil && s.Session.Undecided > 0 {
		lacks = append(lacks, fmt.Sprintf("processes that were over before it was known whether --name fits them: %d", s.Session.Undecided))
	}
	if len(s.Damaged) > 0 {
		lacks = append(lacks, fmt.Sprintf("%d segments are damaged", len(s.Damaged)))
	}
	switch {
	case s.Session == nil:
		lacks = append(lacks, "session.json is missing")
	case s.Killed:
		lacks = append(lacks, "the recorder was killed")
	case s.Live:
		lacks = append(lacks, "the recording goes on")
	case s.Session.Ending == trace.EndingError:
		lacks = append(lacks, "the recording ended with an error")
	case len(s.Session.Unstored) > 0:
		lacks = append(lacks, "not all rows were stored")
	}
	return lacks
}
