package expect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
)

// subject is an answer of which something can be expected.
type subject struct {
	name string
	// texts are the columns for conditions, numbers those for bounds.
	texts, numbers []string
	durations      []string // those of numbers that are times
	labels         []string // those of texts that name a row
	// ask returns the rows of each expectation, whatever its conditions are.
	ask func(context.Context, *analyze.Query, []*Expectation) ([][]row, error)
}

// row is a row of an answer.
type row struct {
	numbers map[string]float64 // what is absent is not there
	texts   map[string]string
	// isStandard tells of what every node has: nothing is proposed of it.
	isStandard bool
}

// pathSubject is the subject that needs to be told which paths are meant.
const pathSubject = "path"

// question asks a query for rows.
type question[T any] func(context.Context, *analyze.Query) ([]T, error)

// subjects are all of which something can be expected, in the order in which docs/verify.md explains them. They are
// made when they are needed first, because that looks at the types of all answers.
var subjects = sync.OnceValue(func() []subject {
	return []subject{
		newSubject("callback", askCallbacks, func(r *analyze.CallbackLatency) bool { return r.OfEveryNode }, "node_name", "callback_name"),
		newSubject("start", askPeriods(analyze.Callbacks, analyze.MeasurePeriod), isStandardTopic, "node_name", "callback_name"),
		newSubject("timer", askPeriods(analyze.Callbacks, analyze.MeasureLateness), isStandardTopic, "node_name", "callback_name"),
		newSubject("topic", askPeriods(analyze.Topics, analyze.MeasurePeriod), isStandardTopic, "topic_name", "node_name"),
		newSubject("subscription", askPeriods(analyze.Subscriptions, analyze.MeasurePeriod), isStandardTopic, "topic_name", "node_name"),
		newSubject("communication", askCommunications, func(r *analyze.CommunicationLatency) bool { return r.OfEveryNode },
			"topic_name", "publisher_node_name", "subscription_node_name"),
		newSubject("node", askNodes, nil, "node_name", "subscription_topic_name", "publisher_topic_name"),
		pathsAsked(newSubject[analyze.PathHop](pathSubject, nil, nil, "path")),
		newSubject("service", askServices, nil, "service_name", "client_node_name", "part"),
	}
})

// subjectNamed returns a subject, nil if there is none.
func subjectNamed(name string) *subject {
	all := subjects()
	if i := slices.IndexFunc(all, func(s subject) bool { return s.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// newSubject makes a subject of a row type's columns. isStandard may be nil.
func newSubject[T any](name string, ask question[T], isStandard func(*T) bool, labels ...string) subject {
	s := subject{name: name, labels: labels}
	fields, err := report.Fields[T]()
	if err != nil {
		panic(err) // the type has no columns
	}
	for i := range fields {
		switch f := &fields[i]; {
		case f.IsDuration():
			s.durations = append(s.durations, f.Name)
			fallthrough
		case f.IsNumber():
			s.numbers = append(s.numbers, f.Name)
		default:
			s.texts = append(s.texts, f.Name)
		}
	}
	s.ask = func(ctx context.Context, q *analyze.Query, expectations []*Expectation) ([][]row, error) {
		answers, err := ask(ctx, q)
		if err != nil {
			return nil, err
		}
		rows := rowsOf(fields, answers)
		for i := range answers {
			rows[i].isStandard = isStandard != nil && isStandard(&answers[i])
		}
		return slices.Repeat([][]row{rows}, len(expectations)), nil
	}
	return s
}

func rowsOf[T any](fields []report.Field[T], answers []T) []row {
	rows := make([]row, len(answers))
	for i := range answers {
		rows[i] = rowOf(fields, &answers[i])
	}
	return rows
}

func rowOf[T any](fields []report.Field[T], of *T) row {
	r := row{numbers: map[string]float64{}, texts: map[string]string{}}
	for i := range fields {
		f := &fields[i]
		if number, ok := f.Number(of); ok {
			r.numbers[f.Name] = number
		} else if text, ok := f.Text(of); ok && !f.IsNumber() {
			r.texts[f.Name] = text
		}
	}
	return r
}

func askCallbacks(ctx context.Context, q *analyze.Query) ([]analyze.CallbackLatency, error) {
	return q.CallbackLatency(ctx, nil)
}

func askCommunications(ctx context.Context, q *analyze.Query) ([]analyze.CommunicationLatency, error) {
	return q.CommunicationLatency(ctx, nil)
}

func askServices(ctx context.Context, q *analyze.Query) ([]analyze.ServiceLatency, error) {
	return q.ServiceLatency(ctx, nil)
}

func askNodes(ctx context.Context, q *analyze.Query) ([]analyze.NodeLatency, error) {
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	return q.NodeLatency(ctx, analyze.LinkOptions{}, nil)
}

func askPeriods(of analyze.Subject, measure analyze.Measure) question[analyze.Period] {
	return func(ctx context.Context, q *analyze.Query) ([]analyze.Period, error) {
		rows, err := q.Periods(ctx, of, false, nil)
		return slices.DeleteFunc(rows, func(r analyze.Period) bool { return r.Measure != measure }), err
	}
}

func isStandardTopic(r *analyze.Period) bool { return r.Topic != "" && !system.IsFollowed(r.Topic) }

// pathsAsked has a subject asked for the paths of its expectations, as a whole and not for their hops: for all of them
// at once. An expectation has no rows if the recording has not what its paths lead along.
func pathsAsked(s subject) subject {
	s.ask = func(ctx context.Context, q *analyze.Query, expectations []*Expectation) ([][]row, error) {
		if err := q.LoadActivity(ctx); err != nil {
			return nil, err
		}
		fields, err := report.Fields[analyze.PathHop]()
		if err != nil {
			return nil, err
		}
		wanted, all := make([]map[string]bool, len(expectations)), []*system.Path{}
		for i, e := range expectations {
			paths, err := findPaths(ctx, q, e)
			if err != nil && !errors.Is(err, system.ErrNoSuchName) {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
			wanted[i] = map[string]bool{}
			for _, p := range paths {
				wanted[i][p.String()] = true
			}
			all = system.AddPaths(all, paths)
		}
		answers := make([][]row, len(expectations))
		if len(all) == 0 {
			return answers, nil
		}
		hops, err := q.PathLatency(ctx, all, analyze.PathOptions{}, nil)
		if err != nil {
			return nil, err
		}
		rows := rowsOf(fields, slices.DeleteFunc(hops, func(r analyze.PathHop) bool { return r.Hop != 0 }))
		for i := range expectations {
			for _, r := range rows {
				if wanted[i][r.texts["path"]] {
					answers[i] = append(answers[i], r)
				}
			}
		}
		return answers, nil
	}
	return s
}

func findPaths(ctx context.Context, q *analyze.Query, e *Expectation) ([]*system.Path, error) {
	if e.Path != "" {
		return q.Architecture.FindPaths(e.Path)
	}
	paths, complete, err := q.Architecture.Paths(ctx, system.PathQuery{From: e.From, To: e.To})
	if err == nil && !complete {
		q.Warnings = append(q.Warnings, fmt.Sprintf("there are more paths from %s to %s than were looked at", e.From, e.To))
	}
	return paths, err
}

func (s *subject) isDuration(column string) bool { return slices.Contains(s.durations, column) }
