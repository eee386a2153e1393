package recording

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestExpectations: what is proposed of a recording is met by others of the same programs, and not when a callback
// takes a tenth longer.
func TestExpectations(t *testing.T) {
	requireRecording(t)
	if !isSoak() {
		t.Skip("asserts on times: make soak does it, on a machine that has nothing else to do")
	}
	datasets, ask := recordSleepers(t, "10")
	var text bytes.Buffer
	if _, err := expect.Propose(t.Context(), &text, []expect.Run{{Datasets: datasets, Ask: ask}}, 0.05); err != nil {
		t.Fatal(err)
	}
	expected, err := expect.Read("proposed", &text, func(string, []string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	unmet := func(sleep string) (all []string) {
		datasets, ask := recordSleepers(t, sleep)
		verdicts, _, err := expect.Judge(t.Context(), expected, datasets, ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if !v.Met {
				all = append(all, strings.Join([]string{v.Of, v.What, v.Column, v.Expected, v.Measured}, " "))
			}
		}
		return all
	}
	for range 50 {
		if wrong := unmet("10"); len(wrong) > 0 {
			t.Errorf("the same programs: %s", strings.Join(wrong, "\n"))
		}
	}
	slower := unmet("11")
	if len(slower) == 0 {
		t.Error("callbacks that take a tenth longer are within all bounds")
	}
	t.Logf("a tenth longer: %s", strings.Join(slower, "\n"))
}

// recordSleepers records nodes whose callbacks sleep so many milliseconds, and returns how to ask the recording. There
// is a thread for each callback: with fewer, how long messages wait depends on how far apart the timers of both nodes
// happen to be, which differs from start to start.
func recordSleepers(t *testing.T, sleep string) ([]*trace.Dataset, expect.Ask) {
	t.Helper()
	n := startReadyNode(t, oneLayout, "--nodes 2 --rate 20 --threads 8 --chain --sleep "+sleep)
	r := record(t, session.Configuration{PIDs: n.pidText()})
	time.Sleep(2 * time.Second)
	r.cancel()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
	n.stop()
	d, err := trace.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	datasets := []*trace.Dataset{d}
	return datasets, func(ctx context.Context) (*analyze.Query, error) {
		return analyze.NewQuery(ctx, analyze.Filter{}, datasets...)
	}
}
