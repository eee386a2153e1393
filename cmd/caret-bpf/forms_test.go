package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// questions are the commands that answer with rows, of a relayDataset with these topics.
func questions(dir, chatter, relayed string) [][]string {
	return [][]string{
		{"info", dir, "--part", "tables"}, {"latency", "callback", dir}, {"latency", "callback", dir, "--why"}, {"latency", "callback", dir, "--off-cpu"},
		{"latency", "callback", dir, "--before"}, {"latency", "communication", dir}, {"latency", "node", dir},
		{"latency", "path", dir, "--from", chatter, "--to", relayed}, {"latency", "path", dir, "--from", chatter, "--to", relayed, "--why"},
		{"latency", "service", dir}, {"latency", "response-time", dir, "--from", chatter, "--to", relayed},
		{"period", dir, "--of", "topic"}, {"frequency", dir, "--of", "topic"}, {"load", dir}, {"paths", dir}, {"diff", dir, dir},
	}
}

// Every command that answers with rows has every form, tells of damage on the side, and is silent there with --quiet.
func TestFormsOfAnswers(t *testing.T) {
	dir := relayDataset(t)
	tracetest.AddSegment(t, dir, 0, []trace.Loss{{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 3}})
	broken := filepath.Join(dir, trace.TablePublish, "00000009.parquet")
	if err := os.WriteFile(broken, []byte("no Parquet"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range questions(dir, "/chatter", "/relayed") {
		t.Run(strings.Join(arguments[:2], " "), func(t *testing.T) {
			ask := func(flags ...string) (out, problems string) {
				code, out, problems := runCommand(append(append([]string{}, arguments...), flags...)...)
				if code != exitSuccess {
					t.Fatalf("%v: exit code %d: %s", flags, code, problems)
				}
				return out, problems
			}
			_, problems := ask()
			if asksPublishes := arguments[0] != "info" && arguments[1] != "callback" && arguments[1] != "service"; asksPublishes && !strings.Contains(problems, filepath.Base(broken)) {
				t.Errorf("nothing says that %s is damaged: %q", broken, problems)
			}
			if _, problems := ask("--quiet"); problems != "" {
				t.Errorf("--quiet says %q", problems)
			}
			if out, _ := ask("--json"); !json.Valid([]byte(out)) {
				t.Errorf("no JSON: %s", out)
			}
			if out, _ := ask("--csv"); !strings.Contains(strings.SplitN(out, "\n", 2)[0], ",") {
				t.Errorf("no CSV: %s", out)
			}
			file := filepath.Join(t.TempDir(), "answer.parquet")
			out, _ := ask("--parquet", file)
			if content, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(content), "PAR1") || out != "" {
				t.Errorf("no Parquet file: %v, printed %q", err, out)
			}
			if code, _, _ := runCommand(append(append([]string{}, arguments...), "--json", "--csv")...); code != exitUsage {
				t.Errorf("two forms: exit code %d", code)
			}
		})
	}
}
