package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestOverheadIsShown(t *testing.T) {
	overhead := &trace.Overhead{
		Measured: true, Hits: 1234, Cost: 1_000_000, ThreadCount: 9,
		Events: []trace.EventOverhead{{Event: "rmw_take", Hits: 34, Cost: 250_000}},
		Threads: []trace.ThreadOverhead{
			{PID: 1, TID: 11, Hits: 900, Cost: 700_000, Share: 0.0123, PeakShare: 0.0456},
			{TID: 12}, {TID: 13}, {TID: 14}, // one more than is shown
		},
		Detached: []trace.DetachedEvent{{Event: "rcl_take", PID: 1, TID: 11, Share: 0.031, OwnShare: 0.01}},
	}
	var out strings.Builder
	printOverhead(&output{stream: &out}, &summary.Summary{Session: &trace.Session{Overhead: overhead}})
	text := squeeze(out.String())
	for _, want := range []string{
		"1.00 ms in 1,234 hits on 9 threads (costs measured on its machine)", "1.23 % 4.56 %", "rmw_take 34 250.0 µs 25.0 %", "rcl_take", "1.00 % 1 11 3.10 %", "13",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(text, "14") {
		t.Errorf("more threads than are to be shown:\n%s", out.String())
	}
	out.Reset()
	printOverhead(&output{stream: &out}, &summary.Summary{Session: &trace.Session{}})
	printOverhead(&output{stream: &out}, &summary.Summary{})
	if out.Len() > 0 {
		t.Errorf("of nothing: %q", out.String())
	}
}

func TestCacheFolder(t *testing.T) {
	for name, test := range map[string]struct {
		environment map[string]string
		want        string
	}{
		"XDG":         {map[string]string{"XDG_CACHE_HOME": "/cache", "HOME": "/home/a"}, "/cache/caret-bpf"},
		"home":        {map[string]string{"HOME": "/home/a"}, "/home/a/.cache/caret-bpf"},
		"no absolute": {map[string]string{"XDG_CACHE_HOME": "cache", "HOME": "/home/a"}, "/home/a/.cache/caret-bpf"},
		"nothing":     {nil, ""},
	} {
		got, err := cacheFolder(func(variable string) string { return test.environment[variable] }, nil)
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The program measures itself as a child of its own, and keeps what it found for the next one.
func TestCheckCalibrates(t *testing.T) {
	requireRoot(t)
	requireHostProcessIDs(t)
	cache := t.TempDir()
	c := programCommand("check", "--calibrate", "--json")
	c.Env = append(c.Env, "XDG_CACHE_HOME="+cache)
	var out strings.Builder
	c.Stdout = &out
	if code, problems := runProgram(t, c); code != exitSuccess || !strings.Contains(problems, "kept in "+cache) {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	var shown probes.Calibration
	if err := json.Unmarshal([]byte(out.String()), &shown); err != nil || len(shown.Costs.Instructions) < 8 {
		t.Fatalf("%v in %s", err, out.String())
	}
	kept, err := probes.LoadCalibration(filepath.Join(cache, "caret-bpf"), shown.Machine, nil)
	if err != nil || kept.Costs.Program != shown.Costs.Program || kept.Costs.Instructions["nop"] != shown.Costs.Instructions["nop"] {
		t.Errorf("%+v, %v, shown %+v", kept, err, shown)
	}
}
