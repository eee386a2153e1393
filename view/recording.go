package view

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// recording is what a page is about, and what its other answers name by number.
type recording struct {
	Version string `json:"version"`
	// Report says that only some keys have answers.
	Report bool `json:"report"`
	// Part says that only a part of the datasets is shown: of their time, nodes or processes.
	Part bool `json:"part"`
	// Begin is in Unix nanoseconds, as text: as a number it would not be exact. Duration is in nanoseconds.
	Begin    string          `json:"begin"`
	Duration int64           `json:"duration"`
	Datasets []datasetAnswer `json:"datasets"`
	Baseline []datasetAnswer `json:"baseline"`
	// Scheduling says that executions have parts of their time, OffCPU that times off the CPU were recorded.
	Scheduling bool             `json:"scheduling"`
	OffCPU     bool             `json:"offCpu"`
	Warnings   []string         `json:"warnings"`
	Lost       lostAnswer       `json:"lost"`
	Processes  []processAnswer  `json:"processes"`
	Threads    []threadAnswer   `json:"threads"`
	Nodes      []nodeAnswer     `json:"nodes"`
	Topics     []topicAnswer    `json:"topics"`
	Callbacks  []callbackAnswer `json:"callbacks"`
	// Levels is the number of the deepest level of tiles.
	Levels int `json:"levels"`
}

type datasetAnswer struct {
	Path string  `json:"path"`
	Host *string `json:"host"`
	// Begin and End are since the begin of what is shown, in nanoseconds; null without events, and for a baseline, which
	// is of another time.
	Begin     trace.Optional[int64] `json:"begin"`
	End       trace.Optional[int64] `json:"end"`
	Callbacks uint64                `json:"callbacks"` // of all of it
	Session   *sessionAnswer        `json:"session"`
}

// sessionAnswer is how a dataset was recorded.
type sessionAnswer struct {
	Recorder   string            `json:"recorder"`
	Kernel     string            `json:"kernel"`
	Ending     trace.Ending      `json:"ending"`
	Attributes map[string]string `json:"attributes"`
	Targets    []targetAnswer    `json:"targets"`
}

type targetAnswer struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Distro  string `json:"distro"`
	RMW     string `json:"rmw"`
}

// lostAnswer sums up what is missing.
type lostAnswer struct {
	// Records is null where it is not known that none was lost.
	Records    *uint64 `json:"records"`
	BlindSpans int     `json:"blindSpans"`
	Text       string  `json:"text"`
}

type processAnswer struct {
	ID   int     `json:"id"`
	PID  int32   `json:"pid"`
	Name *string `json:"name"`
	Host *string `json:"host"`
}

type threadAnswer struct {
	ID      int   `json:"id"`
	Process int   `json:"process"`
	TID     int32 `json:"tid"`
	// Name is null: recordings do not tell names of threads.
	Name *string `json:"name"`
}

type nodeAnswer struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Process int    `json:"process"`
	// Standard: it has nothing but what every node has.
	Standard bool `json:"standard"`
}

type topicAnswer struct {
	ID       int     `json:"id"`
	Name     string  `json:"name"`
	Type     *string `json:"type"`
	Standard bool    `json:"standard"`
}

type callbackAnswer struct {
	ID   int32   `json:"id"`
	Name string  `json:"name"`
	Node int     `json:"node"`
	Kind *string `json:"kind"`
	// Topic is the number of a subscription's topic, Service a service's name.
	Topic    *int                  `json:"topic"`
	Service  *string               `json:"service"`
	Period   trace.Optional[int64] `json:"period"`
	Symbol   *string               `json:"symbol"`
	Standard bool                  `json:"standard"`
}

// orNull is nil for an empty text, which stands for one that is not known.
func orNull[T ~string](text T) *string {
	if text == "" {
		return nil
	}
	s := string(text)
	return &s
}

// recording reads entities and footers only, so it is there long before the statistics.
func (v *View) recording(ctx context.Context, isReport bool) (*recording, error) {
	r := &recording{
		Version: v.options.Version, Report: isReport, Part: v.asked.From.Valid || len(v.asked.Nodes)+len(v.asked.Processes) > 0,
		Begin: strconv.FormatInt(v.span.First, 10), Duration: v.duration(),
		Warnings: []string{}, Levels: v.levels(),
	}
	err := v.plain.all(ctx, func(q *analyze.Query) error {
		if err := v.describeDatasets(ctx, r, q); err != nil {
			return err
		}
		damaged := false
		for _, d := range v.options.Datasets {
			of, err := isDamaged(ctx, d)
			if err != nil {
				return err
			}
			damaged = damaged || of
		}
		losses, err := lossesOf(ctx, q)
		r.Lost = v.sumUp(losses, damaged)
		r.Warnings = append(r.Warnings, v.warnings...)
		v.listEntities(r, q.Architecture)
		return err
	})
	return r, err
}

func (v *View) describeDatasets(ctx context.Context, r *recording, q *analyze.Query) error {
	for _, d := range v.options.Datasets {
		of, err := describeDataset(ctx, d)
		if err != nil {
			return err
		}
		if span, ok, err := q.SpanOf(ctx, d); err != nil {
			return err
		} else if ok {
			of.Begin, of.End = trace.Some(v.since(span.First)), trace.Some(v.since(span.Last))
		}
		r.Datasets = append(r.Datasets, of)
		if d.Live() {
			r.Warnings = append(r.Warnings, d.Dir()+": it is being recorded: what came after the page was opened is not shown")
		}
		if d.Session() != nil {
			r.Warnings = append(r.Warnings, d.Session().Warnings...)
		}
		scheduling, err := hasParts(ctx, d)
		if err != nil {
			return err
		}
		r.Scheduling = r.Scheduling || scheduling
		times, err := trace.Count(ctx, d, trace.TableSched)
		if err := ignoreDamage(err); err != nil {
			return err
		}
		// Times off the CPU are of threads, not of nodes.
		r.OffCPU = r.OffCPU || times > 0 && len(v.options.Filter.Nodes) == 0
	}
	for _, d := range v.options.Baseline {
		of, err := describeDataset(ctx, d)
		if err != nil {
			return err
		}
		r.Baseline = append(r.Baseline, of)
	}
	return nil
}

func describeDataset(ctx context.Context, d *trace.Dataset) (datasetAnswer, error) {
	of := datasetAnswer{Path: d.Dir()}
	var err error
	of.Callbacks, err = trace.Count(ctx, d, trace.TableCallback)
	if err := ignoreDamage(err); err != nil {
		return of, err
	}
	s := d.Session()
	if s == nil {
		return of, nil
	}
	of.Host = orNull(s.Host.Name)
	of.Session = &sessionAnswer{
		Recorder: s.Recorder.Version, Kernel: s.Host.Kernel, Ending: s.Ending, Attributes: s.Attributes, Targets: []targetAnswer{},
	}
	for _, t := range s.Targets {
		of.Session.Targets = append(of.Session.Targets, targetAnswer{t.PID, t.Command, t.Distro, t.RMWImplementation})
	}
	return of, nil
}

// hasParts tells whether executions of a dataset have the parts of their time.
func hasParts(ctx context.Context, d *trace.Dataset) (bool, error) {
	groups, err := trace.Groups(ctx, d, trace.TableCallback)
	if err := ignoreDamage(err); err != nil {
		return false, err
	}
	return slices.ContainsFunc(groups, func(g *trace.Group) bool { return !g.HasOnlyNull("cpu_time") }), nil
}

// sumUp says what is missing: what was lost, and where it is not known whether more was.
func (v *View) sumUp(losses []trace.Loss, damaged bool) (lost lostAnswer) {
	var records uint64
	for i := range losses {
		records += losses[i].Count
		if losses[i].Reason == trace.LossUnarmed {
			lost.BlindSpans++
		}
	}
	var parts []string
	if records > 0 {
		parts = append(parts, plural(records, "record was lost", "records were lost"))
	}
	if lost.BlindSpans > 0 {
		parts = append(parts, plural(uint64(lost.BlindSpans), "file was not probed for a time", "files were not probed for a time"))
	}
	var ends []summary.End
	for _, d := range v.options.Datasets {
		ends = append(ends, summary.End{Session: d.Session(), Live: d.Live(), Killed: d.Killed(), Damaged: damaged})
	}
	reservation := summary.ReservationOf(ends...)
	switch lost.Text = strings.Join(parts, ", "); {
	case lost.Text == "":
		lost.Text = "nothing was lost" + reservation.Text
	case reservation.Text != "":
		lost.Text += "; nothing else" + reservation.Text
	}
	if records > 0 || !reservation.Uncertain {
		lost.Records = &records
	}
	return lost
}

// isDamaged tells whether a segment of a dataset cannot be read, as far as the ends of the segments tell.
func isDamaged(ctx context.Context, d *trace.Dataset) (bool, error) {
	for _, table := range trace.Registry() {
		_, err := trace.Count(ctx, d, table.Name)
		if err != nil && ignoreDamage(err) == nil {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// plural counts something.
func plural(count uint64, one, several string) string {
	if count == 1 {
		return "1 " + one
	}
	return report.Count(count) + " " + several
}

// listEntities lists what the numbers of entities stand for.
func (v *View) listEntities(r *recording, a *system.Architecture) {
	hosts, names := make(map[string]string), make(map[trace.ProcessKey]string)
	for _, d := range v.options.Datasets {
		if s := d.Session(); s != nil {
			hosts[s.Host.BootID] = s.Host.Name
		}
	}
	for _, p := range a.Processes {
		names[p.ProcessKey] = cmp.Or(names[p.ProcessKey], p.Command)
	}
	r.Processes = make([]processAnswer, len(v.entities.processes))
	for key, id := range v.entities.processes {
		r.Processes[id] = processAnswer{ID: id, PID: key.PID, Name: orNull(names[key]), Host: orNull(hosts[key.BootID])}
	}
	r.Threads = make([]threadAnswer, len(v.threads))
	for id, t := range v.threads {
		r.Threads[id] = threadAnswer{ID: id, Process: v.entities.processes[t.Process], TID: t.TID}
	}
	standard := a.Standard()
	r.Nodes, r.Callbacks = []nodeAnswer{}, []callbackAnswer{}
	for id, n := range a.Nodes {
		r.Nodes = append(r.Nodes, nodeAnswer{ID: id, Name: n.Name, Process: v.entities.processes[n.Process], Standard: isStandard(n, standard)})
		for _, c := range n.Callbacks {
			r.Callbacks = append(r.Callbacks, callbackAnswer{
				ID: v.entities.callbacks[c], Name: c.Name, Node: id, Kind: orNull(c.Kind), Topic: v.topicNumber(c.TopicName), Service: orNull(c.ServiceName),
				Period: c.Period, Symbol: orNull(c.Symbol), Standard: standard.Callback(c),
			})
		}
	}
	types := typesOf(a)
	r.Topics = make([]topicAnswer, len(v.entities.topics))
	for name, id := range v.entities.topics {
		r.Topics[id] = topicAnswer{ID: id, Name: name, Type: orNull(types[name]), Standard: standard.Topic(name)}
	}
}

// isStandard tells whether a node has something, and nothing but what every node has.
func isStandard(n *system.Node, standard *system.Standard) bool {
	own := func(c *system.Callback) bool { return !standard.Callback(c) }
	return len(n.Callbacks)+len(n.Publishers)+len(n.Subscriptions) > 0 &&
		!slices.ContainsFunc(n.Callbacks, own) &&
		!slices.ContainsFunc(n.Publishers, func(p *system.Publisher) bool { return !standard.Publisher(p) }) &&
		!slices.ContainsFunc(n.Subscriptions, func(s *system.Subscription) bool { return !standard.Subscription(s) })
}

// topicNumber is the number of a topic, nil without one.
func (v *View) topicNumber(name string) *int {
	id, known := v.entities.topics[name]
	if !known {
		return nil
	}
	return &id
}

// typesOf are the types of messages, by topics, as far as they are known.
func typesOf(a *system.Architecture) map[string]string {
	types := make(map[string]string)
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			types[p.TopicName] = cmp.Or(types[p.TopicName], p.MessageType)
		}
		for _, s := range n.Subscriptions {
			types[s.TopicName] = cmp.Or(types[s.TopicName], s.MessageType)
		}
	}
	return types
}
