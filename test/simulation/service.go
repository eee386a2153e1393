package simulation

import "github.com/caret-bpf/caret-bpf/trace"

type server struct {
	node     *node
	name     string
	handle   trace.Address
	callback *callback
	requests []*call
}

type client struct {
	node     *node
	name     string
	handle   trace.Address
	gid      string
	sequence int64
	answers  []*call
}

// call is a call of a service; steps that have not come are 0.
type call struct {
	client                                             *client
	server                                             *server // nil where the request was lost
	sequence                                           int64
	requestSent, requestTaken, answerSent, answerTaken int64
}

// request sends a request to the server of the client's service.
func (s *System) request(t *thread, c *client) {
	c.sequence++
	of := &call{client: c, sequence: c.sequence, requestSent: s.now}
	s.calls = append(s.calls, of)
	s.recordStep(t, of, trace.RequestSent)
	to := s.serverOf(c.name)
	if to == nil || s.chance(3) {
		return
	}
	s.after(s.between(2_000, 2_000+60_000/s.pace), func() {
		if to.node.process.alive(s.now) {
			to.requests = append(to.requests, of)
			s.dispatch(to.node.executor)
		}
	})
}

// serverOf returns the server that is there, nil without one.
func (s *System) serverOf(service string) *server {
	for _, p := range s.processes {
		for _, n := range p.nodes {
			for _, of := range n.servers {
				if of.name == service && p.alive(s.now) {
					return of
				}
			}
		}
	}
	return nil
}

func (s *System) serve(t *thread, c *callback) {
	of := c.server.requests[0]
	c.server.requests = c.server.requests[1:]
	of.server, of.requestTaken = c.server, s.now
	s.recordStep(t, of, trace.RequestTaken)
	s.begin(t, c, nil, of)
}

func (s *System) answer(e *execution) {
	of := e.call
	of.answerSent = s.now
	s.recordStep(e.thread, of, trace.ResponseSent)
	if s.chance(3) {
		return
	}
	s.after(s.between(2_000, 2_000+60_000/s.pace), func() {
		if to := of.client; to.node.process.alive(s.now) {
			to.answers = append(to.answers, of)
			s.dispatch(to.node.executor)
		}
	})
}

func (s *System) takeAnswer(t *thread, c *client) {
	of := c.answers[0]
	c.answers = c.answers[1:]
	of.answerTaken = s.now
	s.recordStep(t, of, trace.ResponseTaken)
	s.goOn(t)
}

// recordStep writes the row of a step that happens now.
func (s *System) recordStep(t *thread, of *call, step trace.ServiceStep) {
	process := t.executor.process
	r := process.recording
	if !r.sees(s.now) {
		return
	}
	row := trace.Service{
		ProcessKey: process.key, TID: t.tid, Step: step, StepTimestamp: r.stamp(s.now), ClientGID: of.client.gid, SequenceNumber: of.sequence,
		ServiceName: of.client.name, Provenance: trace.FromSymbol,
	}
	if step == trace.RequestSent || step == trace.ResponseTaken {
		row.ClientHandle, row.NodeName = of.client.handle, of.client.node.name
	} else {
		row.ServiceHandle, row.NodeName = of.server.handle, of.server.node.name
	}
	r.rows.Services = append(r.rows.Services, row)
}
