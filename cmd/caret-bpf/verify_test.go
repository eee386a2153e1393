package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// chains is a closed dataset of a made-up system.
func chains(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chains")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entities, err := tracetest.System(20_000, w.Write)
	if err != nil {
		t.Fatal(err)
	}
	session := trace.NewSession()
	session.Ending = trace.EndingDuration
	for _, err := range []error{w.Write(entities), w.WriteSession(session), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVerifyCommand(t *testing.T) {
	dir, folder := chains(t), t.TempDir()
	proposed, junit := filepath.Join(folder, "expect.yaml"), filepath.Join(folder, "verify.xml")
	if code, _, problems := runCommand("expect", "--from", dir, "-o", proposed); code != exitSuccess {
		t.Fatalf("exit code %d, %s", code, problems)
	}
	code, out, problems := runCommand("verify", dir, "--expect", proposed, "--junit", junit)
	if code != exitSuccess || !strings.HasSuffix(out, " checks are met\n") {
		t.Errorf("exit code %d, %s\n%s", code, problems, out)
	}
	if text, err := os.ReadFile(junit); err != nil || !strings.Contains(string(text), `failures="0"`) {
		t.Errorf("%v in the report %.200s", err, text)
	}
	strict := filepath.Join(folder, "strict.yaml")
	text := "expectations: [{name: fast, of: callback, where: {node_name: /chain_0/filter}, at-most: {max: 1ns, incomplete: 3}}]"
	if err := os.WriteFile(strict, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problems = runCommand("verify", dir, "-e", strict, "--junit", junit)
	if code != exitDiffers || !strings.Contains(out, "at most 1ns") || !strings.Contains(out, "1 of 2 checks are met\n") || strings.Contains(out, "incomplete") {
		t.Errorf("exit code %d, %s\n%s", code, problems, out)
	}
	if text, err := os.ReadFile(junit); err != nil || !strings.Contains(string(text), `failures="1"`) {
		t.Errorf("%v in the report %.200s", err, text)
	}
	code, out, _ = runCommand("verify", dir, "-e", strict, "--all", "--json")
	var rows []struct {
		Expectation, Column string
		Met                 bool
	}
	if err := json.Unmarshal([]byte(out), &rows); code != exitDiffers || err != nil || len(rows) != 2 || rows[0].Met || !rows[1].Met || rows[1].Column != "incomplete" {
		t.Errorf("exit code %d, %v in\n%s", code, err, out)
	}
	wrong := filepath.Join(folder, "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("expectations: [{of: callbak}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, problems := runCommand("verify", dir, "-e", wrong); code != exitUsage || !strings.Contains(problems, `wrong.yaml:1: of: "callbak"`) || !strings.Contains(problems, `did you mean "callback"?`) {
		t.Errorf("exit code %d, %s", code, problems)
	}
	for want, arguments := range map[int][][]string{
		exitUsage: {
			{"verify", dir}, {"verify", "-e", strict}, {"verify", dir, "-e", strict, "--live"}, {"verify", dir, "-e", strict, "--socket", "x"}, {"verify", dir, "-e", "none"},
			{"verify", dir, "-e", strict, "--last", "-1s"}, {"expect"}, {"expect", dir, "--margin", "100"}, {"expect", dir, "--margin", "-1"},
		},
		exitNoTarget: {{"verify", "--live", "-e", strict, "--socket", filepath.Join(folder, "none")}},
		exitDataset:  {{"verify", folder, "-e", strict}, {"expect", folder}},
		exitOutput:   {{"verify", dir, "-e", strict, "--junit", "/none/x"}, {"expect", dir, "-o", "/none/x"}},
	} {
		for _, a := range arguments {
			if code, _, problems := runCommand(a...); code != want {
				t.Errorf("%v: exit code %d, %s", a, code, problems)
			}
		}
	}
}
