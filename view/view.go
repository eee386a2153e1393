package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrNoEvents is returned for datasets that hold no event.
var ErrNoEvents = errors.New("nothing was recorded that could be shown")

// ErrTooLong is returned for datasets whose times cannot be counted by a page.
var ErrTooLong = errors.New("the recordings span too long a time")

// maxDuration is the longest time that is shown, in nanoseconds: a page counts exactly up to here.
const maxDuration = 1<<53 - 1

// indexPatience is how long the index is made for on that nobody waits for: a page asks for other tiles soon.
const indexPatience = 30 * time.Second

// PathFinder finds paths as the commands do.
type PathFinder interface {
	// Adopt adds to the architecture of a query, whose activity is loaded, what the user says of it.
	Adopt(*analyze.Query) error
	// Find returns the paths that texts name, and those from and to a topic or node. An error wraps
	// system.ErrNoSuchName or analyze.ErrNothingSelected where there is none.
	Find(ctx context.Context, q *analyze.Query, texts []string, from, to string) ([]*system.Path, error)
	// Options say how messages are followed along paths.
	Options() analyze.PathOptions
}

// Options say what a view is about.
type Options struct {
	// Version is that of the program.
	Version string
	// Datasets are those of one system. Baseline are recordings of the same system that they are compared with; there may
	// be none.
	Datasets, Baseline []*trace.Dataset
	// Diff says what counts as a change since the baseline.
	Diff analyze.DiffOptions
	// Filter selects nodes and processes; filters by topic and callback are not for views.
	Filter analyze.Filter
	// Part, if not nil, chooses a part of the span of the datasets, in Unix nanoseconds, both ends included.
	Part func(trace.Span) (trace.Span, error)
	// Paths finds paths. PathTexts, PathFrom and PathTo are those that are asked for; without any, the longest ones are
	// found that messages took.
	Paths            PathFinder
	PathTexts        []string
	PathFrom, PathTo string
	// Progress, if not nil, is called with the rows that were read of those that one of many questions has to read. It may
	// be called by several goroutines.
	Progress func(read, total int64)
}

// View answers questions about recordings. It is safe for concurrent use.
type View struct {
	options  Options
	span     trace.Span
	threads  []analyze.Thread
	warnings []string // of the datasets
	// asked is what the view is about, as the commands are told: without bounds of time where none are given. A process
	// may have been recorded before its first event and after its last one.
	asked    analyze.Filter
	answers  *answers
	progress progress

	// timeline is asked for tiles, plain for what needs entities only, and linked for what needs to know what callbacks
	// publish: that changes what is known of the system, and other answers with it.
	timeline, plain, linked *asking
	// Numbers in the architectures of timeline, plain and linked.
	timelineEntities, entities, linkedEntities *entities

	index          *memo[*index]
	executions     map[analyze.Thread]int
	callbackRows   *memo[[]analyze.CallbackLatency]
	communications *memo[[]analyze.CommunicationLatency]
	topicPeriods   *memo[[]analyze.Period]
	callbackPeriod *memo[[]analyze.Period]
	activity       *memo[struct{}]
	paths          *memo[*pathList]
}

// Open prepares a view: it reads the entities of the datasets. The error wraps ErrNoEvents for datasets without events.
func Open(ctx context.Context, options Options) (*View, error) {
	v := &View{
		options: options, answers: newAnswers(), index: newMemo[*index](indexPatience), callbackRows: newMemo[[]analyze.CallbackLatency](0),
		communications: newMemo[[]analyze.CommunicationLatency](0), topicPeriods: newMemo[[]analyze.Period](0),
		callbackPeriod: newMemo[[]analyze.Period](0), activity: newMemo[struct{}](0), paths: newMemo[*pathList](0),
	}
	first, err := newAsking(ctx, &v.options)
	if err != nil {
		return nil, err
	}
	span, ok, err := first.query.TimeSpan(ctx)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNoEvents
	}
	if options.Part != nil {
		if span, err = options.Part(span); err != nil {
			return nil, err
		}
	}
	if length := span.Last - span.First; length < 0 || length > maxDuration {
		return nil, fmt.Errorf("%w, more than %v: a time in them may be damaged; ask for a part with --from-time and --to-time", ErrTooLong, time.Duration(maxDuration).Round(time.Hour))
	}
	v.span = span
	if v.asked = options.Filter; options.Part != nil {
		v.asked.From, v.asked.To = trace.Some(span.First), trace.Some(span.Last)
	}
	// What a recording adds meanwhile is not shown: answers do not change.
	v.options.Filter.From, v.options.Filter.To = trace.Some(span.First), trace.Some(span.Last)
	if v.threads, v.executions, err = first.query.With(v.options.Filter).Threads(ctx); err != nil {
		return nil, err
	}
	first.filter = v.options.Filter
	v.plain, v.warnings = first, slices.Clone(first.query.Warnings)
	threads, omitted := busiestThreads(v.threads, v.executions)
	if v.threads = threads; omitted != "" {
		v.warnings = append(v.warnings, omitted)
	}
	v.entities = newEntities(first.query.Architecture, v.threads)
	for _, other := range []struct {
		asking   **asking
		entities **entities
	}{{&v.timeline, &v.timelineEntities}, {&v.linked, &v.linkedEntities}} {
		a, err := newAsking(ctx, &v.options)
		if err != nil {
			return nil, err
		}
		*other.asking, *other.entities = a, newEntities(a.query.Architecture, v.threads)
	}
	return v, nil
}

// Misfits are the parts of the filter that fit nothing in the recordings.
func (v *View) Misfits() []analyze.Misfit { return v.plain.query.Misfits() }

// duration is the length of what is shown, in nanoseconds.
func (v *View) duration() int64 { return v.span.Last - v.span.First }

// since returns a time as answers have it.
func (v *View) since(at int64) int64 { return at - v.span.First }

// Answer returns the answer for a key, as JSON. Errors wrap ErrNoSuchKey, ErrBadKey, or what the question fails with.
func (v *View) Answer(ctx context.Context, text string) ([]byte, error) {
	k, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	return v.answers.get(ctx, k.String(), func(ctx context.Context) ([]byte, error) {
		return v.encodedAnswer(ctx, k)
	})
}

// encodedAnswer makes an answer, with what it lacks.
func (v *View) encodedAnswer(ctx context.Context, k key) ([]byte, error) {
	ctx, found := warningIn(ctx)
	answer, err := v.answer(ctx, k)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return withWarnings(text, found.list())
}

func (v *View) answer(ctx context.Context, k key) (any, error) {
	switch k.name {
	case "recording":
		return v.recording(ctx, false)
	case "connections":
		return v.connections(ctx)
	case "graph":
		return v.graph(ctx)
	case "callbacks":
		return v.callbackTable(ctx)
	case "communications":
		return v.communicationTable(ctx)
	case "timers":
		return v.timerTable(ctx)
	case "topics":
		return v.topicTable(ctx)
	case "loads":
		return v.loadTable(ctx)
	case "losses":
		return v.losses(ctx)
	case "delays":
		return v.delayTable(ctx)
	case "offcpus":
		return v.offCPUTable(ctx)
	case "compare":
		return v.compare(ctx)
	case "comparedparts":
		if !k.has("path") {
			return v.comparedCallbackParts(ctx)
		}
		of, err := v.comparedPathParts(ctx, []string{k.value("path")})
		return of[k.value("path")], err
	case "paths":
		return v.pathsAnswer(ctx, k)
	case "path":
		return v.path(ctx, k.value("path"))
	case "flow":
		from, to, err := v.times(k)
		if err != nil {
			return nil, err
		}
		return v.flow(ctx, k.value("path"), from, to)
	case "series":
		return v.series(ctx, k)
	case "tile", "offcpu":
		t, err := v.tileOf(k)
		if err != nil {
			return nil, err
		}
		if k.name == "offcpu" {
			return v.offCPU(ctx, t)
		}
		return v.tile(ctx, t)
	}
	return nil, fmt.Errorf("%w: %q", ErrNoSuchKey, k.name)
}

// times returns the parameters from and to of a key, as times of the datasets.
func (v *View) times(k key) (from, to int64, err error) {
	if from, err = k.number("from", v.duration()); err != nil {
		return 0, 0, err
	}
	if to, err = k.number("to", v.duration()); err != nil {
		return 0, 0, err
	}
	if from > to {
		return 0, 0, fmt.Errorf("%w: %s: from is later than to", ErrBadKey, k.name)
	}
	return v.span.First + from, v.span.First + to, nil
}
