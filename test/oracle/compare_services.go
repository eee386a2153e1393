package oracle

import (
	"strings"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

var serviceSteps = map[groundtruth.ServiceStepKind]trace.ServiceStep{
	groundtruth.StepSendRequest:  trace.RequestSent,
	groundtruth.StepTakeRequest:  trace.RequestTaken,
	groundtruth.StepSendResponse: trace.ResponseSent,
	groundtruth.StepTakeResponse: trace.ResponseTaken,
}

// cycloneClientDigits is how much of a client's gid means something to others than the server: 8 bytes in hexadecimal.
const cycloneClientDigits = 16

// clientGID returns what the dataset calls a client.
func (c *comparer) clientGID(step *stepTruth) string {
	if c.truth.Header.RMW == standin.CycloneDDS {
		return step.ClientGID[:cycloneClientDigits]
	}
	return step.ClientGID
}

func (c *comparer) compareStep(rows *threadRows, step *stepTruth) {
	what := describe(step.TID, string(step.Step), step.Bracket)
	row := one(c, what, rows.services, step.Bracket)
	service, _ := c.services.at(step.Service, step.Bracket.Before)
	client, _ := c.clients.at(step.Client, step.Bracket.Before)
	name := service.entity.Name + client.entity.Name // it has one of them
	node := c.nodeName(service.entity.Node+client.entity.Node, step.Bracket.Before)
	switch {
	case !step.leavesRow():
		if row != nil {
			c.differ("%s: took nothing, but has a row", what)
		}
		return
	case c.Filter.drops(node, name):
		if row != nil {
			c.differ("%s: is filtered out", what)
		}
		return
	case row == nil:
		c.lack(trace.LostService, what, c.span.holds(step.Bracket))
		return
	}
	equal(c, what+": step", row.Step, serviceSteps[step.Step])
	equal(c, what+": service", uint64(row.ServiceHandle), step.Service)
	equal(c, what+": client", uint64(row.ClientHandle), step.Client)
	equal(c, what+": message", uint64(row.Message), step.Message)
	equal(c, what+": sequence number", row.SequenceNumber, step.SequenceNumber)
	equal(c, what+": provenance", row.Provenance, trace.FromSymbol)
	told := told(c, service, service.entity.Node) && told(c, client, client.entity.Node)
	equalName(c, told, what+": service name", row.ServiceName, name)
	equalName(c, told, what+": node", row.NodeName, node)
	sourceTimestamp := trace.Optional[int64]{}
	if strings.HasPrefix(string(step.Step), "take") {
		sourceTimestamp = trace.Some(step.SourceTimestamp)
	}
	equal(c, what+": source timestamp", row.SourceTimestamp, sourceTimestamp)
	// The server reads it from the request, once it is known who wrote it; of the client its initialization or memory
	// tells it.
	gidTold := told && (step.Client == 0 || c.scanned(client.ready) || client.since >= c.span.OpenTo)
	equalName(c, gidTold, what+": client gid", row.ClientGID, c.clientGID(step))
	c.checkServiceCallback(what, row, step)
	c.Compared[trace.LostService]++
}

// checkServiceCallback compares the callback that a taken request fed, or that a step happened in.
func (c *comparer) checkServiceCallback(what string, row *trace.Service, step *stepTruth) {
	if fed := step.feeds; fed != nil {
		at, seen := c.seen[fed]
		if !seen && row.Callback != 0 && c.span.holds(fed.Start) == possible {
			seen = uint64(row.Callback) == fed.Callback.Callback
		}
		if seen && row.Callback == 0 && !c.knowsOwner(fed) {
			c.checkNoTime(what+": start of the callback that it fed", row.CallbackStartTimestamp)
			return
		}
		if seen {
			equal(c, what+": the callback that it fed", uint64(row.Callback), fed.Callback.Callback)
			c.checkTime(what+": start of the callback that it fed", row.CallbackStartTimestamp, fed.Start)
			if at != 0 && row.CallbackStartTimestamp.Valid {
				equal(c, what+": start of the callback that it fed", c.onClock(row.CallbackStartTimestamp.Value), at)
			}
			return
		}
	}
	c.checkEnclosing(what, step.in, row.Callback, row.CallbackStartTimestamp)
}
