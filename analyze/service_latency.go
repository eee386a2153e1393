package analyze

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ServiceLabel names the pair of a client and a service in results. The node of a side that was not recorded is empty.
type ServiceLabel struct {
	Service    string `report:"service_name"`
	ClientNode string `report:"client_node_name,drop=8"`
	ClientPID  int32  `report:"client_pid,detail"`
	ServerNode string `report:"server_node_name,drop=9"`
	ServerPID  int32  `report:"server_pid,detail"`
}

// ServicePart is a part of a call.
type ServicePart string

// The parts.
const (
	// PartCall is from request_sent to response_taken.
	PartCall ServicePart = "call"
	// PartRequest is from request_sent to request_taken.
	PartRequest ServicePart = "request"
	// PartServer is from request_taken to response_sent.
	PartServer ServicePart = "server"
	// PartResponse is from response_sent to response_taken.
	PartResponse ServicePart = "response"
)

// ServiceLatency is the time that one part of the calls of a client to a service took.
type ServiceLatency struct {
	ServiceLabel
	Part ServicePart `report:"part"`
	Statistics
	// Unanswered is the number of calls of which the begin of the part was seen, and not its end. Where a side was not
	// recorded that is every call.
	Unanswered uint64 `report:"unanswered"`
	// ClockAgreement is the worst of the durations'.
	ClockAgreement
}

// ServiceCall is one call. Steps that were not seen are null.
type ServiceCall struct {
	ServiceLabel
	ClientGID      string                `report:"client_gid,detail"`
	SequenceNumber int64                 `report:"sequence_number,drop=2"`
	RequestSent    trace.Optional[int64] `report:"request_sent_timestamp,time"`
	RequestTaken   trace.Optional[int64] `report:"request_taken_timestamp,time,drop=4"`
	ResponseSent   trace.Optional[int64] `report:"response_sent_timestamp,time,drop=4"`
	ResponseTaken  trace.Optional[int64] `report:"response_taken_timestamp,time,drop=5"`
	Latency        trace.Optional[int64] `report:"latency,duration"`
}

// at is the time of the first step that was seen.
func (call *ServiceCall) at() int64 {
	return firstOf(orNoTime(call.RequestSent), orNoTime(call.RequestTaken), orNoTime(call.ResponseSent), orNoTime(call.ResponseTaken))
}

// serviceColumns are the columns of service that tell which step of which call happened when.
type serviceColumns struct {
	trace.ProcessKey
	Step           trace.ServiceStep `column:"step"`
	StepTimestamp  int64             `column:"step_timestamp"`
	ServiceHandle  trace.Address     `column:"service_handle,null"`
	ClientHandle   trace.Address     `column:"client_handle,null"`
	ClientGID      string            `column:"client_gid,null"`
	SequenceNumber int64             `column:"sequence_number,delta"`
	ServiceName    string            `column:"service_name,null"`
	NodeName       string            `column:"node_name,null"`
}

// callKey joins the steps of a call. Without a gid the steps of client and server cannot be joined: each side has its
// own process.
type callKey struct {
	gid      string
	process  trace.ProcessKey // zero where there is a gid
	client   trace.Address    // likewise
	sequence int64
	service  string
}

// serviceStep is one step on the query's clock.
type serviceStep struct {
	serviceColumns
	at      int64
	dataset int
}

// keptCalls is the number of calls that are kept because steps of them may still come: beyond it the one that began
// first is given up.
const keptCalls = 1 << 16

// recentCalls is the number of answered calls that are remembered for servers that take the same request later.
const recentCalls = 1 << 10

// ServiceLatency answers how long calls of services, and of actions, took. each, if not nil, gets every call, in
// the order of the first steps that were seen. A call is given up when so many have begun after it. An answer that
// comes later still counts as a call of its own; a warning tells where that may be.
func (q *Query) ServiceLatency(ctx context.Context, each func([]ServiceCall) error) ([]ServiceLatency, error) {
	groups, err := q.tableGroups(ctx, trace.TableService, []string{"step_timestamp"}, nil, func(_, end int64) bool {
		return q.filter.From.Valid && end < q.filter.From.Value
	})
	if err != nil {
		return nil, err
	}
	var damaged scan.Damages
	names := newServiceNames(q.Architecture)
	progress := q.newProgress(groups)
	steps := stream[serviceStep]{groups: groups, read: func(ctx context.Context, _ int, g tableGroup) (steps []timed[serviceStep], err error) {
		err = trace.ScanGroup(ctx, trace.TableService, g.Group, nil, func(rows []serviceColumns) error {
			for _, row := range rows {
				names.complete(&row)
				if matches(q.filter.Topics, row.ServiceName) {
					at := q.clocks[g.dataset].correct(row.StepTimestamp)
					steps = append(steps, timed[serviceStep]{at, &serviceStep{row, at, g.dataset}})
				}
			}
			return nil
		})
		progress.Add(g.Rows())
		return steps, damaged.Add(err)
	}}
	calls := newServiceCalls(q, keptCalls, each)
	err = readAhead(ctx, q.windowLimits(groups), steps.reading, func(window []*serviceStep) error {
		for _, step := range window {
			calls.add(step)
		}
		if err := q.unknown.Err(); err != nil {
			return err
		}
		return calls.finished.flush()
	})
	if err != nil {
		return nil, err
	}
	calls.end()
	if err := q.unknown.Err(); err != nil {
		return nil, err
	}
	if err := calls.finished.end(q); err != nil {
		return nil, err
	}
	return calls.results(), q.warnOfDamage(damaged.Err())
}

// serviceNames completes rows that were written before the names were known. It is safe for concurrent use.
type serviceNames struct {
	services system.LivesAt[*system.Service]
	clients  system.LivesAt[*system.Client]
}

func newServiceNames(a *system.Architecture) *serviceNames {
	names := &serviceNames{services: make(system.LivesAt[*system.Service]), clients: make(system.LivesAt[*system.Client])}
	for _, n := range a.Nodes {
		for _, s := range n.Services {
			names.services.Add(n.Process, s.Handle, s.Life, s)
		}
		for _, c := range n.Clients {
			names.clients.Add(n.Process, c.Handle, c.Life, c)
		}
	}
	names.services.Arrange()
	names.clients.Arrange()
	return names
}

func (names *serviceNames) complete(row *serviceColumns) {
	if s := names.services.Find(row.ProcessKey, row.ServiceHandle, row.StepTimestamp); s != nil {
		row.ServiceName, row.NodeName = cmp.Or(s.ServiceName, row.ServiceName), cmp.Or(s.Node.Name, row.NodeName)
	}
	if c := names.clients.Find(row.ProcessKey, row.ClientHandle, row.StepTimestamp); c != nil {
		row.ServiceName, row.NodeName = cmp.Or(c.ServiceName, row.ServiceName), cmp.Or(c.Node.Name, row.NodeName)
	}
}

// serviceCalls gathers calls.
type serviceCalls struct {
	query *Query
	// open finds the calls of which steps may still come in order, where the one that began first is in front; they are
	// kept at most. Where several servers have the service's name, each takes the request, and there is a call for each.
	open map[callKey][]*list.Element
	// done are the calls of which all steps were seen last, in recent as a ring: another server may take the request yet.
	done     map[callKey]*openCall
	recent   [recentCalls]callKey
	closed   int
	order    list.List // of *openCall
	kept     int
	parts    map[ServiceLabel]*serviceParts
	finished series[ServiceCall]
	// unanswered counts the calls that were given up while an answer could still come.
	unanswered uint64
	// alone counts the steps of clients that are not known.
	alone uint64
}

type openCall struct {
	ServiceCall
	key    callKey
	server system.Place // zero where none was seen
	// clientDataset and serverDataset have the steps of either side.
	clientDataset, serverDataset int
}

func newCall(key callKey, s *serviceStep) *openCall {
	return &openCall{ServiceCall: ServiceCall{ServiceLabel: ServiceLabel{Service: s.ServiceName}, ClientGID: s.ClientGID, SequenceNumber: s.SequenceNumber}, key: key}
}

func newServiceCalls(q *Query, kept int, each func([]ServiceCall) error) *serviceCalls {
	return &serviceCalls{
		query: q, open: make(map[callKey][]*list.Element), done: make(map[callKey]*openCall), kept: kept, parts: make(map[ServiceLabel]*serviceParts), finished: newSeries(each, (*ServiceCall).at),
	}
}

type serviceParts struct {
	call, request, server, response servicePart
}

type servicePart struct {
	distribution
	unanswered uint64
	agreement  clockAgreement
}

func (c *serviceCalls) add(s *serviceStep) {
	key := callKey{gid: s.ClientGID, sequence: s.SequenceNumber, service: s.ServiceName}
	if s.ClientGID == "" {
		key.process, key.client = s.ProcessKey, s.ClientHandle
	}
	if s.ClientGID == "" && s.ClientHandle == 0 {
		c.addAlone(key, s)
		return
	}
	element := c.find(key, s)
	if element == nil {
		element = c.begin(key, s)
	}
	call := element.Value.(*openCall)
	call.take(s)
	if call.RequestSent.Valid && call.RequestTaken.Valid && call.ResponseSent.Valid && call.ResponseTaken.Valid {
		c.close(element)
		c.remember(call)
	}
}

// addAlone passes on the step of a client that is not known, as all that was seen of a call: other clients' have the
// same numbers.
func (c *serviceCalls) addAlone(key callKey, s *serviceStep) {
	call := newCall(key, s)
	call.take(s)
	c.alone++
	c.finish(call)
}

// take adds a step to a call.
func (call *openCall) take(s *serviceStep) {
	at := trace.Some(s.at)
	switch s.Step {
	case trace.RequestSent:
		call.RequestSent = at
	case trace.RequestTaken:
		call.RequestTaken = at
	case trace.ResponseSent:
		call.ResponseSent = at
	case trace.ResponseTaken:
		call.ResponseTaken = at
	}
	switch s.Step {
	case trace.RequestSent, trace.ResponseTaken:
		call.ClientNode, call.ClientPID, call.clientDataset = s.NodeName, s.PID, s.dataset
	default:
		call.ServerNode, call.ServerPID, call.server = s.NodeName, s.PID, system.Place{Process: s.ProcessKey, Address: s.ServiceHandle}
		call.serverDataset = s.dataset
	}
}

// remember keeps a call whose steps were all seen, in the place of one that was answered before.
func (c *serviceCalls) remember(call *openCall) {
	at := &c.recent[c.closed%recentCalls]
	if c.closed >= recentCalls {
		delete(c.done, *at)
	}
	*at = call.key
	c.done[call.key] = call
	c.closed++
}

// find returns the open call that a step belongs to. One that has the step already is closed: its sequence number is
// used again, by the gid's next owner, or the step is a duplicate.
func (c *serviceCalls) find(key callKey, s *serviceStep) (found *list.Element) {
	for _, element := range slices.Clone(c.open[key]) {
		call := element.Value.(*openCall)
		switch {
		case !call.mayBeOf(s):
		case call.has(s.Step):
			if s.Step != trace.ResponseTaken || len(c.open[key]) == 1 {
				c.close(element)
			}
		case found == nil || s.Step == trace.ResponseTaken && call.ResponseSent.Valid && !found.Value.(*openCall).ResponseSent.Valid:
			found = element
		}
	}
	return found
}

// mayBeOf tells whether it is not another server's call.
func (call *openCall) mayBeOf(s *serviceStep) bool {
	byClient := s.Step == trace.RequestSent || s.Step == trace.ResponseTaken
	return byClient || call.server == system.Place{} || call.server == system.Place{Process: s.ProcessKey, Address: s.ServiceHandle}
}

// begin keeps a new call, in the place of the one that began first where there are too many. Where another server has
// taken the request, too, it begins with the same one.
func (c *serviceCalls) begin(key callKey, s *serviceStep) *list.Element {
	call := newCall(key, s)
	if of := c.sibling(key, s); of != nil {
		call.ClientNode, call.ClientPID, call.RequestSent, call.clientDataset = of.ClientNode, of.ClientPID, of.RequestSent, of.clientDataset
	}
	if c.order.Len() == c.kept {
		first := c.order.Front()
		if first.Value.(*openCall).mayBeAnswered() {
			c.unanswered++
		}
		c.close(first)
	}
	element := c.order.PushBack(call)
	c.open[key] = append(c.open[key], element)
	return element
}

// sibling returns a call with the request that a server takes, which another server has taken before.
func (c *serviceCalls) sibling(key callKey, s *serviceStep) *openCall {
	if s.Step != trace.RequestTaken {
		return nil
	}
	if others := c.open[key]; len(others) > 0 {
		return others[0].Value.(*openCall)
	}
	if of := c.done[key]; of != nil && !of.mayBeOf(s) {
		return of
	}
	return nil
}

// close passes a call on and forgets it.
func (c *serviceCalls) close(element *list.Element) {
	call := c.order.Remove(element).(*openCall)
	c.open[call.key] = slices.DeleteFunc(c.open[call.key], func(e *list.Element) bool { return e == element })
	if len(c.open[call.key]) == 0 {
		delete(c.open, call.key)
	}
	c.finish(call)
}

// mayBeAnswered tells whether a side was seen to begin the call and not to end it.
func (call *ServiceCall) mayBeAnswered() bool {
	return call.RequestSent.Valid && !call.ResponseTaken.Valid || call.RequestTaken.Valid && !call.ResponseSent.Valid
}

func (call *ServiceCall) has(step trace.ServiceStep) bool {
	switch step {
	case trace.RequestSent:
		return call.RequestSent.Valid
	case trace.RequestTaken:
		return call.RequestTaken.Valid
	case trace.ResponseSent:
		return call.ResponseSent.Valid
	}
	return call.ResponseTaken.Valid
}

func (c *serviceCalls) finish(call *openCall) {
	begin := scan.FirstTime(call.RequestSent, call.RequestTaken, call.ResponseSent, call.ResponseTaken)
	f := &c.query.filter
	if !f.covers(begin) || !matches(f.Nodes, call.ClientNode, call.ServerNode) ||
		!f.process(call.ClientPID) && !f.process(call.ServerPID) {
		return
	}
	parts := c.parts[call.ServiceLabel]
	if parts == nil {
		c.query.unknown.Keep(len(call.Service) + len(call.ClientNode) + len(call.ServerNode))
		parts = new(serviceParts)
		c.parts[call.ServiceLabel] = parts
	}
	parts.call.add(call.RequestSent, call.ResponseTaken)
	parts.request.add(call.RequestSent, call.RequestTaken)
	if call.RequestSent.Valid && call.RequestTaken.Valid {
		parts.request.agreement.add(c.query.agreement(call.clientDataset, call.RequestSent.Value, call.serverDataset, call.RequestTaken.Value))
	}
	if call.ResponseSent.Valid && call.ResponseTaken.Valid {
		parts.response.agreement.add(c.query.agreement(call.serverDataset, call.ResponseSent.Value, call.clientDataset, call.ResponseTaken.Value))
	}
	parts.server.add(call.RequestTaken, call.ResponseSent)
	parts.response.add(call.ResponseSent, call.ResponseTaken)
	if c.finished.wanted() {
		if call.RequestSent.Valid && call.ResponseTaken.Valid {
			call.Latency = trace.Some(call.ResponseTaken.Value - call.RequestSent.Value)
		}
		c.finished.add(call.ServiceCall)
	}
}

func (p *servicePart) add(from, to trace.Optional[int64]) {
	switch {
	case !from.Valid:
	case !to.Valid:
		p.begin(from.Value)
		p.unanswered++
	default:
		p.distribution.add(from.Value, to.Value-from.Value)
	}
}

// end passes on the calls of which steps are missing.
func (c *serviceCalls) end() {
	for c.order.Len() > 0 {
		c.close(c.order.Front())
	}
	if c.alone > 0 {
		c.query.Warnings = append(c.query.Warnings, fmt.Sprintf(
			"%d steps of services are of clients that are not known: each counts as a call of its own, without an answer", c.alone))
	}
	if c.unanswered > 0 {
		c.query.Warnings = append(c.query.Warnings, fmt.Sprintf(
			"%d calls had no answer when %d later ones had begun: one that came still later counts as a call of its own", c.unanswered, c.kept))
	}
}

func (c *serviceCalls) results() []ServiceLatency {
	var labels []ServiceLabel
	for label := range c.parts {
		labels = append(labels, label)
	}
	slices.SortFunc(labels, func(a, b ServiceLabel) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.ClientNode, b.ClientNode), cmp.Compare(a.ClientPID, b.ClientPID),
			cmp.Compare(a.ServerNode, b.ServerNode), cmp.Compare(a.ServerPID, b.ServerPID))
	})
	var results []ServiceLatency
	for _, label := range labels {
		parts := c.parts[label]
		for _, part := range []struct {
			name ServicePart
			of   *servicePart
		}{{PartCall, &parts.call}, {PartRequest, &parts.request}, {PartServer, &parts.server}, {PartResponse, &parts.response}} {
			if part.of.began > 0 {
				results = append(results, ServiceLatency{ServiceLabel: label, Part: part.name, Statistics: part.of.statistics(), Unanswered: part.of.unanswered, ClockAgreement: part.of.agreement.worst})
			}
		}
	}
	return results
}
