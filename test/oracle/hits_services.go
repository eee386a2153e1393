package oracle

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hitStep is one step of a service call.
type hitStep struct {
	step     trace.ServiceStep
	of       hitPlace // the rcl client or service
	sequence uint64
	at       int64
}

// isClients tells whether a client does it.
func (s *hitStep) isClients() bool {
	return s.step == trace.RequestSent || s.step == trace.ResponseTaken
}

// hitCall is one call by its steps.
type hitCall struct {
	analyze.ServiceCall
	at map[trace.ServiceStep]int64
}

// calls joins steps by the service's name and the sequence number. Hits do not tell the client, so no service may have
// several clients that call it, nor several servers.
func (c *hitComparison) calls() []*hitCall {
	type side struct {
		service string
		client  bool
	}
	type key struct {
		service  string
		sequence uint64
	}
	only, calls := map[side]hitPlace{}, map[key]*hitCall{}
	slices.SortStableFunc(c.hits.steps, func(a, b *hitStep) int { return cmp.Compare(a.at, b.at) })
	for _, s := range c.hits.steps {
		node := c.hits.serviceSides[s.of]
		by := side{node.service, s.isClients()}
		if other, ok := only[by]; ok && other != s.of {
			c.t.Fatalf("two clients or two servers of %s: the test cannot tell their calls apart", node.service)
		}
		only[by] = s.of
		of := key{node.service, s.sequence}
		call := calls[of]
		if call == nil {
			call = &hitCall{at: map[trace.ServiceStep]int64{}}
			call.Service, call.SequenceNumber = node.service, int64(s.sequence)
			calls[of] = call
		}
		if _, twice := call.at[s.step]; twice {
			c.t.Errorf("%s of %s, sequence number %d, happened twice", s.step, node.service, s.sequence)
		}
		call.at[s.step] = s.at
		if s.isClients() {
			call.ClientNode, call.ClientPID = node.node, s.of.pid
		} else {
			call.ServerNode, call.ServerPID = node.node, s.of.pid
		}
	}
	var list []*hitCall
	for _, call := range calls {
		call.RequestSent, call.RequestTaken = call.step(trace.RequestSent), call.step(trace.RequestTaken)
		call.ResponseSent, call.ResponseTaken = call.step(trace.ResponseSent), call.step(trace.ResponseTaken)
		if call.RequestSent.Valid && call.ResponseTaken.Valid {
			call.Latency = trace.Some(call.ResponseTaken.Value - call.RequestSent.Value)
		}
		list = append(list, call)
	}
	return list
}

func (of *hitCall) step(step trace.ServiceStep) trace.Optional[int64] {
	at, ok := of.at[step]
	return trace.Optional[int64]{Value: at, Valid: ok}
}

func (c *hitComparison) requireServices() {
	var instances, wantInstances []analyze.ServiceCall
	results, err := OpenQuery(c.t, c.dir).ServiceLatency(c.t.Context(), collect(&instances))
	c.require(err)
	for i := range instances {
		instances[i].ClientGID = ""
	}
	type partOf struct {
		analyze.ServiceLabel
		part analyze.ServicePart
	}
	of, unanswered := map[partOf]*hitStatistics{}, map[partOf]uint64{}
	for _, call := range c.calls() {
		wantInstances = append(wantInstances, call.ServiceCall)
		for part, ends := range map[analyze.ServicePart][2]trace.ServiceStep{
			analyze.PartCall:     {trace.RequestSent, trace.ResponseTaken},
			analyze.PartRequest:  {trace.RequestSent, trace.RequestTaken},
			analyze.PartServer:   {trace.RequestTaken, trace.ResponseSent},
			analyze.PartResponse: {trace.ResponseSent, trace.ResponseTaken},
		} {
			begin, end := call.step(ends[0]), call.step(ends[1])
			if !begin.Valid {
				continue
			}
			by := partOf{call.ServiceLabel, part}
			if end.Valid {
				end.Value -= begin.Value
			} else {
				unanswered[by]++
			}
			addTo(of, by, begin.Value, end)
		}
	}
	var want []analyze.ServiceLatency
	for by, s := range of {
		want = append(want, analyze.ServiceLatency{ServiceLabel: by.ServiceLabel, Part: by.part, Statistics: s.statistics(), Unanswered: unanswered[by]})
	}
	requireSame(c, "calls", instances, wantInstances)
	requireSame(c, "services", results, want)
}
