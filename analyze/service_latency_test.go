package analyze_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestServiceLatency(t *testing.T) {
	s := newRecording(t)
	step := func(pid int32, step trace.ServiceStep, at int64, gid string, sequence int64, node string) {
		s.rows.Services = append(s.rows.Services, trace.Service{
			ProcessKey: processKey(pid), Step: step, StepTimestamp: at, ClientGID: gid, SequenceNumber: sequence, ServiceName: "/add", NodeName: node, Provenance: trace.FromSymbol,
		})
	}
	for sequence := range int64(2) {
		at := 1000 * (sequence + 1)
		step(1, trace.RequestSent, at, "aa", sequence, "/client")
		step(2, trace.RequestTaken, at+10, "aa", sequence, "/server")
		step(2, trace.ResponseSent, at+30, "aa", sequence, "/server")
		step(1, trace.ResponseTaken, at+60, "aa", sequence, "/client")
	}
	step(1, trace.RequestSent, 3000, "aa", 2, "/client")  // not answered
	step(2, trace.RequestTaken, 1015, "bb", 1, "/server") // of a client that was not recorded, with a number of the other's
	step(2, trace.ResponseSent, 1025, "bb", 1, "/server")
	var calls int
	results, err := s.query(analyze.Filter{}).ServiceLatency(t.Context(), func(more []analyze.ServiceCall) error {
		calls += len(more)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
	type key struct {
		client, server string
		part           analyze.ServicePart
	}
	want := map[key][3]int64{ // count, mean, unanswered
		{"/client", "/server", analyze.PartCall}: {2, 60, 0}, {"/client", "/server", analyze.PartRequest}: {2, 10, 0},
		{"/client", "/server", analyze.PartServer}: {2, 20, 0}, {"/client", "/server", analyze.PartResponse}: {2, 30, 0},
		{"/client", "", analyze.PartCall}: {0, 0, 1}, {"/client", "", analyze.PartRequest}: {0, 0, 1},
		{"", "/server", analyze.PartServer}: {1, 10, 0}, {"", "/server", analyze.PartResponse}: {0, 0, 1},
	}
	for _, r := range results {
		of := key{r.ClientNode, r.ServerNode, r.Part}
		if got := [3]int64{int64(r.Count), r.Mean.Value, int64(r.Unanswered)}; got != want[of] {
			t.Errorf("%v is %v, want %v", of, got, want[of])
		}
		delete(want, of)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// A request goes to all servers of its service's name, and each answers it.
func TestServiceLatencyOfSeveralServers(t *testing.T) {
	s := newRecording(t)
	step := func(pid int32, step trace.ServiceStep, at int64, node string) {
		s.rows.Services = append(s.rows.Services, trace.Service{
			ProcessKey: processKey(pid), Step: step, StepTimestamp: at, ClientGID: "aa", SequenceNumber: 1, ServiceName: "/add", NodeName: node, Provenance: trace.FromSymbol,
		})
	}
	step(1, trace.RequestSent, 1000, "/client")
	step(2, trace.RequestTaken, 1010, "/fast")
	step(3, trace.RequestTaken, 1015, "/slow")
	step(2, trace.ResponseSent, 1020, "/fast")
	step(1, trace.ResponseTaken, 1030, "/client")
	step(3, trace.ResponseSent, 1070, "/slow")
	step(1, trace.ResponseTaken, 1090, "/client")
	step(4, trace.RequestTaken, 1110, "/late")
	step(4, trace.ResponseSent, 1120, "/late")
	step(1, trace.ResponseTaken, 1140, "/client")
	var calls []analyze.ServiceCall
	if _, err := s.query(analyze.Filter{}).ServiceLatency(t.Context(), func(more []analyze.ServiceCall) error {
		calls = append(calls, more...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string][4]int64{"/fast": {1000, 1010, 1020, 1030}, "/slow": {1000, 1015, 1070, 1090}, "/late": {1000, 1110, 1120, 1140}}
	for _, c := range calls {
		got := [4]int64{c.RequestSent.Value, c.RequestTaken.Value, c.ResponseSent.Value, c.ResponseTaken.Value}
		for i := range got {
			got[i] -= calls[0].RequestSent.Value - 1000
		}
		if got != want[c.ServerNode] || c.ClientNode != "/client" {
			t.Errorf("call of %s from %s is %v, want %v", c.ServerNode, c.ClientNode, got, want[c.ServerNode])
		}
		delete(want, c.ServerNode)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// Numbers of calls are those of a client: where it is not known, nothing says that two steps are of one call.
func TestServiceLatencyOfUnknownClients(t *testing.T) {
	s := newRecording(t)
	for i, step := range []trace.ServiceStep{trace.RequestTaken, trace.RequestTaken, trace.ResponseSent} {
		s.rows.Services = append(s.rows.Services, trace.Service{
			ProcessKey: processKey(1), Step: step, StepTimestamp: int64(1000 + i), SequenceNumber: 1, ServiceName: "/add", NodeName: "/server", Provenance: trace.FromSymbol,
		})
	}
	query := s.query(analyze.Filter{})
	var calls int
	results, err := query.ServiceLatency(t.Context(), func(more []analyze.ServiceCall) error {
		calls += len(more)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Count != 0 {
			t.Errorf("%+v", r)
		}
	}
	const warning = "3 steps of services are of clients that are not known"
	if calls != 3 || !slices.ContainsFunc(query.Warnings, func(w string) bool { return strings.HasPrefix(w, warning) }) {
		t.Errorf("%d calls, want 3, %q", calls, query.Warnings)
	}
}
