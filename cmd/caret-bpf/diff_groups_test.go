package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

func TestDiffOfGroups(t *testing.T) {
	f := simulated.Default()
	f.Recordings, f.Vehicles, f.Releases, f.Chains, f.Callbacks = 24, 6, 2, 2, 800
	dir := t.TempDir()
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), l), l.Close()); err != nil {
		t.Fatal(err)
	}
	groups := []string{"diff", "--group", "A=release=1.8", "--group", "B=release=1.9", dir}
	code, out, problems := runCommand(groups...)
	for _, want := range []string{"/chain_00/node_2", "B (release=1.9): 12 recordings of 6 vehicles", "6 vehicles are in both groups", "of 16 changed by more than noise"} {
		if code != exitDiffers || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %s: %q is missing in\n%s", code, problems, want, out)
		}
	}
	code, out, _ = runCommand(append(groups, "--json", "--percentile", "99")...)
	var d struct {
		Percentile float64
		Latencies  []struct{ Name, Basis, Verdict string }
	}
	// The tails of 100 executions differ by more than the change.
	if err := json.Unmarshal([]byte(out), &d); code != exitSuccess || err != nil || d.Percentile != 99 || len(d.Latencies) != 16 || d.Latencies[0].Basis != "vehicles_in_both" {
		t.Errorf("exit code %d, %v in\n%s", code, err, out)
	}
	code, out, _ = runCommand(append(groups, "--csv", "--all")...)
	if code != exitDiffers || strings.Count(out, "\n") != 17 {
		t.Errorf("exit code %d, CSV:\n%s", code, out)
	}
	parquet := filepath.Join(t.TempDir(), "diff.parquet")
	if code, _, problems := runCommand(append(groups, "--parquet", parquet)...); code != exitDiffers {
		t.Errorf("exit code %d, %s", code, problems)
	}
	if info, err := os.Stat(parquet); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
	}
	code, out, problems = runCommand("diff", "--group", "A=release=1.8", "--group", "B=release=1.9,vehicle=v000", "--alpha", "1e-9", dir)
	if code != exitSuccess {
		t.Errorf("exit code %d of what cannot be told, %s\n%s", code, problems, out)
	}
	for _, test := range []struct {
		arguments string
		code      int
	}{
		{"--group A=release=1.8 " + dir, exitUsage},
		{"--group A=release=1.8 --group B=release " + dir, exitUsage},
		{"--group A=release=1.8 --group B=release=1.9", exitUsage},
		{"--group A=release=1.8 --group B=release=1.9 s3://bucket/lake", exitUsage},
		{"--group A=release=1.8 --group B=release=1.9 --percentile 0 " + dir, exitUsage},
		{"--group A=release=1.8 --group B=release=1.9 --before " + dir + " " + dir, exitUsage},
		{"--group A=release=1.8 --group B=release=1.8 " + dir, exitUsage},
		{"--vehicle car " + dir + " " + dir, exitUsage},
		{"--group A=release=1.8 --group B=release=2.0 " + dir, exitNoTarget},
		{"--group A=release=1.8 --group B=release=1.9 " + t.TempDir(), exitDataset},
	} {
		if code, _, problems := runCommand(append([]string{"diff"}, strings.Fields(test.arguments)...)...); code != test.code {
			t.Errorf("%s: exit code %d, want %d: %s", test.arguments, code, test.code, problems)
		}
	}
}
