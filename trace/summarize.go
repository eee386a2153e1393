package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Summarize reads the dataset once. Damaged segments are warnings of the Summary, not errors.
func Summarize(ctx context.Context, d *Dataset) (*Summary, error) {
	s := newSummarizer(d)
	steps := []func(context.Context) error{
		s.tables, s.span, s.processes, s.callbacks, s.callbackNames, s.publishes, s.takes, s.enqueues, s.losses,
	}
	for _, step := range steps {
		if err := s.damage.collect(step(ctx)); err != nil {
			return nil, err
		}
	}
	return s.summary(), nil
}

// summarizer gathers a Summary. Its memory grows with the number of processes, callbacks and topics, not of rows.
type summarizer struct {
	dataset  *Dataset
	result   Summary
	process  map[ProcessKey]*ProcessSummary
	callback map[callbackKey]*CallbackSummary
	topic    map[string]*topicTraffic
	loss     map[LossTotal]uint64   // keys have Count 0
	status   map[StatusCount]uint64 // keys have Count 0
	damage   damage
}

type callbackKey struct {
	process  ProcessKey
	callback Address
}

// topicTraffic is a TopicSummary in the making.
type topicTraffic struct {
	publishes, received uint64
	timed               uint64 // publishes within span
	span                Span
}

func newSummarizer(d *Dataset) *summarizer {
	return &summarizer{
		dataset:  d,
		result:   Summary{Session: d.Session(), Live: d.Live(), Killed: d.Killed()},
		process:  make(map[ProcessKey]*ProcessSummary),
		callback: make(map[callbackKey]*CallbackSummary),
		topic:    make(map[string]*topicTraffic),
		loss:     make(map[LossTotal]uint64),
		status:   make(map[StatusCount]uint64),
	}
}

func (s *summarizer) tables(ctx context.Context) error {
	names, err := s.dataset.Tables()
	if err != nil {
		return err
	}
	for _, name := range names {
		segments, unfinished, err := s.dataset.Segments(name)
		if err != nil {
			return err
		}
		t := TableSummary{Name: name, Segments: len(segments), Unfinished: len(unfinished)}
		for _, segment := range segments {
			t.Bytes += segment.Bytes
		}
		t.Rows, err = Count(ctx, s.dataset, name)
		if err := s.damage.collect(err); err != nil {
			return err
		}
		s.result.Tables = append(s.result.Tables, t)
	}
	return nil
}

func (s *summarizer) span(ctx context.Context) error {
	span, ok, err := TimeSpan(ctx, s.dataset)
	s.result.Span = Optional[Span]{Value: span, Valid: ok}
	return err
}

func (s *summarizer) processes(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableProcess, func(rows []Process) error {
		for i := range rows {
			s.processOf(rows[i].ProcessKey).Process = rows[i]
		}
		return nil
	})
}

func (s *summarizer) processOf(key ProcessKey) *ProcessSummary {
	p := s.process[key]
	if p == nil {
		p = &ProcessSummary{Process: Process{ProcessKey: key}}
		s.process[key] = p
	}
	return p
}

func (s *summarizer) topicOf(name string) *topicTraffic {
	t := s.topic[name]
	if t == nil {
		t = new(topicTraffic)
		s.topic[name] = t
	}
	return t
}

// callbackColumns are the columns of callback that a Summary needs.
type callbackColumns struct {
	ProcessKey
	Callback  Address         `column:"callback"`
	Start     Optional[int64] `column:"callback_start_timestamp"`
	End       Optional[int64] `column:"callback_end_timestamp"`
	Status    CallbackStatus  `column:"status"`
	Kind      CallbackKind    `column:"kind,null"`
	Message   Address         `column:"message,null"`
	Buffer    Address         `column:"buffer,null"`
	TopicName string          `column:"topic_name,null"`
	NodeName  string          `column:"node_name,null"`
	Period    Optional[int64] `column:"period"`
	Symbol    string          `column:"symbol,null"`
}

func (s *summarizer) callbacks(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableCallback, func(rows []callbackColumns) error {
		for i := range rows {
			s.addCallback(&rows[i])
		}
		return nil
	})
}

func (s *summarizer) addCallback(row *callbackColumns) {
	s.processOf(row.ProcessKey).Callbacks++
	key := callbackKey{row.ProcessKey, row.Callback}
	c := s.callback[key]
	if c == nil {
		c = &CallbackSummary{Process: row.ProcessKey, Callback: row.Callback}
		s.callback[key] = c
	}
	c.Count++
	if row.Start.Valid && row.End.Valid {
		duration := row.End.Value - row.Start.Value
		c.Timed++
		c.TotalTime += duration
		c.MaxTime = max(c.MaxTime, duration)
	}
	c.Kind = cmp.Or(row.Kind, c.Kind)
	c.NodeName = cmp.Or(row.NodeName, c.NodeName)
	c.TopicName = cmp.Or(row.TopicName, c.TopicName)
	c.Symbol = cmp.Or(row.Symbol, c.Symbol)
	if row.Period.Valid {
		c.Period = row.Period
	}
	if row.Status != CallbackComplete {
		s.status[StatusCount{Table: TableCallback, Status: string(row.Status)}]++
	}
	if row.TopicName != "" && (row.Message != 0 || row.Buffer != 0) {
		s.topicOf(row.TopicName).received++
	}
}

// callbackNames completes what the rows of callback did not know yet when they were written.
func (s *summarizer) callbackNames(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableCallbackInfo, func(rows []CallbackInfo) error {
		for i := range rows {
			if c := s.callback[callbackKey{rows[i].ProcessKey, rows[i].Callback}]; c != nil {
				c.complete(&rows[i])
			}
		}
		return nil
	})
}

func (c *CallbackSummary) complete(info *CallbackInfo) {
	c.Kind = cmp.Or(c.Kind, info.Kind)
	c.NodeName = cmp.Or(c.NodeName, info.NodeName)
	c.TopicName = cmp.Or(c.TopicName, info.TopicName)
	c.Symbol = cmp.Or(c.Symbol, info.Symbol)
	if !c.Period.Valid {
		c.Period = info.Period
	}
}

// publishColumns are the columns of publish that a Summary needs.
type publishColumns struct {
	ProcessKey
	Intra     Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp    Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl       Optional[int64] `column:"rcl_publish_timestamp"`
	RMW       Optional[int64] `column:"rmw_publish_timestamp"`
	Status    PublishStatus   `column:"status"`
	TopicName string          `column:"topic_name,null"`
}

func (s *summarizer) publishes(ctx context.Context) error {
	return Scan(ctx, s.dataset, TablePublish, func(rows []publishColumns) error {
		for i := range rows {
			row := &rows[i]
			s.processOf(row.ProcessKey).Publishes++
			s.topicOf(row.TopicName).add(firstOf(row.Intra, row.Rclcpp, row.Rcl, row.RMW))
			if row.Status != PublishComplete {
				s.status[StatusCount{Table: TablePublish, Status: string(row.Status)}]++
			}
		}
		return nil
	})
}

func firstOf(times ...Optional[int64]) Optional[int64] {
	for _, t := range times {
		if t.Valid {
			return t
		}
	}
	return Optional[int64]{}
}

func (t *topicTraffic) add(at Optional[int64]) {
	t.publishes++
	if !at.Valid {
		return
	}
	if t.timed == 0 {
		t.span = Span{First: at.Value, Last: at.Value}
	}
	t.timed++
	t.span = Span{First: min(t.span.First, at.Value), Last: max(t.span.Last, at.Value)}
}

func (t *topicTraffic) rate() Optional[float64] {
	if t.timed < 2 || t.span.Nanoseconds() == 0 {
		return Optional[float64]{}
	}
	return Some(float64(t.timed-1) / (float64(t.span.Nanoseconds()) * 1e-9))
}

// takeColumns are the columns of take that a Summary needs.
type takeColumns struct {
	ProcessKey
	TopicName string `column:"topic_name,null"`
}

func (s *summarizer) takes(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableTake, func(rows []takeColumns) error {
		for i := range rows {
			s.processOf(rows[i].ProcessKey).Takes++
			if rows[i].TopicName != "" {
				s.topicOf(rows[i].TopicName).received++
			}
		}
		return nil
	})
}

func (s *summarizer) enqueues(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableEnqueue, func(rows []ProcessKey) error {
		for i := range rows {
			s.processOf(rows[i]).Enqueues++
		}
		return nil
	})
}

func (s *summarizer) losses(ctx context.Context) error {
	return Scan(ctx, s.dataset, TableLoss, func(rows []Loss) error {
		for i := range rows {
			s.loss[LossTotal{Kind: rows[i].Kind, Reason: rows[i].Reason}] += rows[i].Count
		}
		return nil
	})
}

// summary sorts what was gathered.
func (s *summarizer) summary() *Summary {
	r := &s.result
	for _, p := range s.process {
		r.Processes = append(r.Processes, *p)
	}
	slices.SortFunc(r.Processes, func(a, b ProcessSummary) int { return compareProcesses(a.Process.ProcessKey, b.Process.ProcessKey) })
	for _, c := range s.callback {
		r.Callbacks = append(r.Callbacks, *c)
	}
	slices.SortFunc(r.Callbacks, func(a, b CallbackSummary) int {
		return cmp.Or(cmp.Compare(b.TotalTime, a.TotalTime), cmp.Compare(b.Count, a.Count),
			compareProcesses(a.Process, b.Process), cmp.Compare(a.Callback, b.Callback))
	})
	for name, t := range s.topic {
		r.Topics = append(r.Topics, TopicSummary{TopicName: name, Publishes: t.publishes, Rate: t.rate(), Received: t.received})
	}
	slices.SortFunc(r.Topics, func(a, b TopicSummary) int {
		return cmp.Or(cmp.Compare(b.Publishes, a.Publishes), cmp.Compare(a.TopicName, b.TopicName))
	})
	for total, count := range s.loss {
		total.Count = count
		r.Losses = append(r.Losses, total)
	}
	slices.SortFunc(r.Losses, func(a, b LossTotal) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason))
	})
	for status, count := range s.status {
		status.Count = count
		r.Incomplete = append(r.Incomplete, status)
	}
	slices.SortFunc(r.Incomplete, func(a, b StatusCount) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Status, b.Status))
	})
	r.Warnings = s.warnings()
	return r
}

func compareProcesses(a, b ProcessKey) int {
	return cmp.Or(cmp.Compare(a.BootID, b.BootID), cmp.Compare(a.PID, b.PID), cmp.Compare(a.ProcessStart, b.ProcessStart))
}

// warnings says in words what a reader of the numbers must know.
func (s *summarizer) warnings() []string {
	r := &s.result
	var warnings []string
	if w := s.dataset.Warning(); w != "" {
		warnings = append(warnings, w)
	}
	unfinished := 0
	for _, t := range r.Tables {
		unfinished += t.Unfinished
	}
	switch {
	case r.Live:
		warnings = append(warnings, "the recording is still being written: this is what its closed segments hold")
	case r.Killed:
		warnings = append(warnings, fmt.Sprintf(
			"the recording did not end properly (its recorder was killed or the machine went down): it holds the closed segments, %d unfinished ones are lost", unfinished))
	}
	if r.Session != nil {
		if r.Session.Ending == EndingError {
			warnings = append(warnings, "the recording ended with an error: "+r.Session.Error)
		}
		warnings = append(warnings, r.Session.Warnings...)
	}
	for _, segment := range s.damage.segments {
		warnings = append(warnings, segment.Error())
	}
	var lost uint64
	for _, total := range r.Losses {
		lost += total.Count
	}
	if lost > 0 {
		warnings = append(warnings, fmt.Sprintf("%d records were lost while recording: see the losses", lost))
	}
	for _, status := range r.Incomplete {
		warnings = append(warnings, fmt.Sprintf("%d %s rows are incomplete: %s", status.Count, status.Table, status.Status))
	}
	return warnings
}
