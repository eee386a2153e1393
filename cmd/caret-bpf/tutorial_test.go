package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/docs"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// triedElsewhere begins the commands of the tutorial that tests have behind them, and that of the page, which a program
// that tests build does not have (test/browser).
var triedElsewhere = regexp.MustCompile(`^(scripts/setup\.sh|caret-bpf report) `)

// commandsOf returns the commands of a page: its blocks that are marked as those of a shell.
func commandsOf(t *testing.T, page string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, block[1])
	}
	return commands
}

// The commands of the tutorial do what it says, one after the other, in a shell: the cause is found. The picture is
// written where that is asked for.
func TestTutorial(t *testing.T) {
	requireRecording(t)
	standin.Directory(t, standin.Jazzy, false)
	folder := runTutorial(t, standinPipeline)
	if os.Getenv(docs.WriteVariable) == "" {
		return
	}
	drawing, err := os.ReadFile(filepath.Join(folder, "flow.svg"))
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "..", "docs", "tutorial-flow.svg"), drawing, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// standinPipeline is the program that the tutorial starts.
const standinPipeline = "build/testdata/jazzy/pipeline"

// runTutorial has a shell run the tutorial's commands with a pipeline, whose path is one from the module's folder, and
// requires that they find the cause. The folder has what they have made.
func runTutorial(t *testing.T, pipeline string, variables ...string) (folder string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	build, tools := filepath.Join(folder, "build"), t.TempDir()
	if err := os.Mkdir(build, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, programs := range []string{"testdata", "on-ros"} {
		if err := os.Symlink(filepath.Join(root, "build", programs), filepath.Join(build, programs)); err != nil {
			t.Fatal(err)
		}
	}
	for file, does := range map[string]string{
		filepath.Join(build, "caret-bpf"): fmt.Sprintf(`%s=1 exec %s "$@"`, programVariable, program),
		filepath.Join(tools, "sudo"):      `PATH=/usr/sbin:/usr/bin:/sbin:/bin exec "$@"`, // as its secure_path
	} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var script strings.Builder
	script.WriteString("set -e\ntrap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n")
	for _, block := range commandsOf(t, filepath.Join(root, "docs", "tutorial.md")) {
		if !triedElsewhere.MatchString(block) {
			script.WriteString(strings.ReplaceAll(block, standinPipeline, pipeline))
		}
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	shell.Dir, shell.WaitDelay = folder, time.Second
	shell.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), fmt.Sprintf("ROS_DOMAIN_ID=%d", standin.Domain(t)))
	shell.Env = append(shell.Env, variables...)
	said, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	for _, want := range []string{"nothing was lost", "exit code 8", "3 of 3 checks are met"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("nobody says %q:\n%s", want, said)
		}
	}
	for _, file := range []string{"flow.svg", "verify.xml", "rec.pftrace"} {
		if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	requireCause(t, filepath.Join(folder, "rec"))
	return folder
}

// requireCause requires that of the time before the planner got its messages, the map server's callback took most.
func requireCause(t *testing.T, dir string) {
	t.Helper()
	_, out, problems := runCommand("latency", "path", dir, "--from", "/image", "--to", "/actuator", "--why", "--json", "--quiet")
	var hops []struct {
		Name           string
		OtherCallbacks int64  `json:"other_callbacks"`
		LongestBehind  string `json:"longest_behind"`
		BehindTime     int64  `json:"longest_behind_time"`
	}
	if err := json.Unmarshal([]byte(out), &hops); err != nil {
		t.Fatalf("%v: %s%s", err, out, problems)
	}
	for _, hop := range hops {
		if hop.Name == "/scene" {
			if !strings.HasPrefix(hop.LongestBehind, "/map_server/") || hop.BehindTime < int64(40*time.Millisecond) || hop.OtherCallbacks == 0 {
				t.Errorf("the hop to the planner is %+v", hop)
			}
			return
		}
	}
	t.Errorf("there is no hop to the planner in %s", out)
}
