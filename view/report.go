package view

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

const (
	// ReportBytes is the size that a report may have to be mailed.
	ReportBytes = 10_000_000
	// Shares of the room for answers, in percent, up to which something is added: flows and series leave room for what
	// comes behind them.
	pathShare   = 30
	seriesShare = 60
	// slowestWindows is the number of the slowest ways of a path whose surroundings have a flow of their own.
	slowestWindows = 5
	// reportedSubjects is the number of callbacks, communications and topics that have series: those with most instances.
	reportedSubjects = 200
)

// ErrPage is wrapped by errors for a page that is not as it is expected.
var ErrPage = errors.New("the page in this program is damaged: build it anew with `make web` and `make build`")

// ReportSummary says what a report has.
type ReportSummary struct {
	Answers, Tiles int
	// Level is the deepest level of which all tiles are in it, or exact ones above them.
	Level int
	// Omitted says that there was no room for everything.
	Omitted bool
	Bytes   int
}

// WriteReport writes a page with a part of the answers to w: as one HTML file, which needs no server, of so many bytes
// at most (ReportBytes, say) unless the tables alone take more.
func WriteReport(ctx context.Context, w io.Writer, v *View, page fs.FS, size int) (ReportSummary, error) {
	shell, err := newReportShell(page)
	if err != nil {
		return ReportSummary{}, err
	}
	r := newReportAnswers(v, size-shell.size())
	if err := r.fill(ctx); err != nil {
		return r.summary, err
	}
	answers, err := r.parts.html()
	if err != nil {
		return r.summary, err
	}
	content := shell.with(answers)
	r.summary.Bytes = len(content)
	_, err = io.WriteString(w, content)
	return r.summary, err
}

// reportAnswers gathers answers for a file, compressed.
type reportAnswers struct {
	view    *View
	budget  int // in bytes of HTML
	parts   *reportParts
	trial   *gzip.Writer
	summary ReportSummary
	// hasOffCPU says that the recording has times off the CPU.
	hasOffCPU bool
	// worst are times that are to be looked at closely, in no order.
	worst []place
}

// place is a time at which something was bad. Of those of one kind and path the worst has rank 0; of several of one
// rank the one with the greatest weight is worst.
type place struct {
	at     int64
	rank   int
	weight int64
}

func newReportAnswers(v *View, budget int) *reportAnswers {
	return &reportAnswers{view: v, budget: budget, parts: newReportParts(), trial: gzip.NewWriter(io.Discard)}
}

// fill adds answers, the most important ones first.
func (r *reportAnswers) fill(ctx context.Context) error {
	for _, add := range []func(context.Context) error{r.addWhole, r.addPaths, r.addSeries, r.addTiles} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put adds an answer, with what it lacks.
func (r *reportAnswers) put(k key, answer any, lacks *warnings) error {
	text, err := encodeWith(answer, lacks)
	if err != nil {
		return err
	}
	return r.putText(k, text)
}

func encodeWith(answer any, lacks *warnings) ([]byte, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return withWarnings(text, lacks.list())
}

func (r *reportAnswers) putText(k key, text []byte) error {
	r.summary.Answers++
	return r.parts.add(k, text)
}

// offer adds an answer if there is room for it within a share of the budget, in percent.
func (r *reportAnswers) offer(k key, answer any, lacks *warnings, share int) (added bool, err error) {
	text, err := encodeWith(answer, lacks)
	if err != nil {
		return false, err
	}
	var size counter
	r.trial.Reset(&size)
	if _, err := r.trial.Write(text); err != nil {
		return false, err
	}
	if err := r.trial.Close(); err != nil {
		return false, err
	}
	if r.parts.sizeWith(k, int(size)) > r.budget/100*share {
		r.summary.Omitted = true
		return false, nil
	}
	return true, r.putText(k, text)
}

// counter counts what is written.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// addWhole adds what every page needs. Paths come later: they tell of flows.
func (r *reportAnswers) addWhole(ctx context.Context) error {
	asking, lacks := warningIn(ctx)
	recording, err := r.view.recording(asking, true)
	if err != nil {
		return err
	}
	r.hasOffCPU = recording.OffCPU
	if err := r.put(newKey("recording"), recording, lacks); err != nil {
		return err
	}
	for _, name := range []string{"connections", "graph", "callbacks", "communications", "timers", "topics", "loads", "losses", "delays", "offcpus", "compare", "comparedparts"} {
		asking, lacks := warningIn(ctx)
		answer, err := r.view.answer(asking, newKey(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if losses, ok := answer.(*lossTable); ok {
			r.lookAtLosses(losses.Rows)
		}
		if err := r.put(newKey(name), answer, lacks); err != nil {
			return err
		}
	}
	return nil
}

// lookAtLosses looks closely at where most was lost.
func (r *reportAnswers) lookAtLosses(losses []lossRow) {
	lost := func(l *lossRow) uint64 {
		if l.Count == nil {
			return 0
		}
		return *l.Count
	}
	losses = slices.Clone(losses)
	slices.SortStableFunc(losses, func(a, b lossRow) int { return cmp.Compare(lost(&b), lost(&a)) })
	for rank, l := range losses[:min(len(losses), slowestWindows)] {
		r.worst = append(r.worst, place{l.Begin, rank, l.End - l.Begin})
	}
}

// addPaths adds how long messages took, and their flow: of all, and around the slowest.
func (r *reportAnswers) addPaths(ctx context.Context) error {
	v := r.view
	asking, lacks := warningIn(ctx)
	kept, err := v.pathList(asking)
	if err != nil {
		return err
	}
	list := &pathList{Paths: slices.Clone(kept.Paths), Complete: kept.Complete}
	if len(list.Paths) == 0 {
		return r.put(newKey("paths"), list, lacks)
	}
	var texts []string
	for _, p := range list.Paths {
		texts = append(texts, p.Text)
	}
	asking, ofPaths := warningIn(ctx)
	latencies, err := v.pathsOf(asking, texts)
	if err != nil {
		return err
	}
	asking, ofParts := warningIn(ctx)
	parts, err := v.comparedPathParts(asking, texts)
	if err != nil {
		return err
	}
	windows := make(map[string][]flowSpan)
	for _, p := range list.Paths {
		if latency := latencies[p.Text]; latency != nil {
			windows[p.Text] = r.windowsOf(latency)
		}
	}
	asking, ofFlows := warningIn(ctx)
	flows, err := v.flowsOf(asking, windows, v.span.First, v.span.Last)
	if err != nil {
		return err
	}
	for i := range list.Paths {
		p := &list.Paths[i]
		if flows[p.Text] == nil {
			continue
		}
		added, err := r.offer(newKey("path", p.Text), latencies[p.Text], ofPaths, pathShare)
		if err != nil {
			return err
		}
		if !added {
			continue
		}
		if parts != nil {
			if _, err := r.offer(newKey("comparedparts", p.Text), parts[p.Text], ofParts, pathShare); err != nil {
				return err
			}
		}
		for j, flow := range flows[p.Text] {
			window := windows[p.Text][j]
			added, err := r.offer(newKey("flow", p.Text, fmt.Sprint(window.From), fmt.Sprint(window.To)), flow, ofFlows, pathShare)
			if err != nil {
				return err
			}
			if added {
				p.Flows = append(p.Flows, window)
			}
		}
	}
	return r.put(newKey("paths"), list, lacks)
}

// windowsOf are all of the time, and the times around the slowest ways of a path, which it looks at closely.
func (r *reportAnswers) windowsOf(latency *pathLatency) []flowSpan {
	windows := []flowSpan{{From: 0, To: r.view.duration(), Why: "all of it"}}
	for rank, w := range latency.slowest[:min(len(latency.slowest), slowestWindows)] {
		begin := r.view.since(w.begin)
		r.worst = append(r.worst, place{begin, rank, w.total})
		windows = append(windows, flowSpan{
			From: max(0, begin-3*w.total), To: min(r.view.duration(), begin+3*w.total), Why: "slowest: " + durationText(w.total),
		})
	}
	return windows
}
