package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// runCommand runs the program with arguments and returns its exit code and what it printed.
func runCommand(arguments ...string) (code int, out, problems string) {
	var stdout, stderr bytes.Buffer
	code = execute(context.Background(), newConsole(&stdout, &stderr, func(string) string { return "" }), arguments)
	return code, stdout.String(), stderr.String()
}

func TestCommandLine(t *testing.T) {
	empty := t.TempDir()
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"nothing":            {nil, exitUsage, "name a command"},
		"help":               {[]string{"help"}, exitSuccess, "exit codes"},
		"help of a command":  {[]string{"record", "--help"}, exitSuccess, "--select-node"},
		"unknown command":    {[]string{"rekord"}, exitUsage, `no command "rekord"; did you mean "record"`},
		"help on a command":  {[]string{"help", "record"}, exitSuccess, "--select-node"},
		"help on nothing":    {[]string{"help", "fly"}, exitUsage, `no command "fly"; `},
		"unknown flag":       {[]string{"list", "--color"}, exitUsage, "unknown flag"},
		"version":            {[]string{"version"}, exitSuccess, "dataset format 3"},
		"version as a flag":  {[]string{"--version"}, exitSuccess, "dataset format 3"},
		"distributions":      {[]string{"version", "--distros"}, exitSuccess, "iron\njazzy\n"},
		"superfluous":        {[]string{"version", "now"}, exitUsage, `unexpected "now"`},
		"no target":          {[]string{"record"}, exitUsage, "name the processes in one way"},
		"two ways":           {[]string{"record", "-p", "1", "--all"}, exitUsage, "name the processes in one way"},
		"a PID without -p":   {[]string{"record", "1234", "-o", empty + "/a"}, exitUsage, "caret-bpf record -p 1234"},
		"PIDs without -p":    {[]string{"record", "12", "34"}, exitUsage, `-p "12 34"`},
		"PIDs not quoted":    {[]string{"record", "-p", "12", "34", "56"}, exitUsage, `-p "12 34 56"`},
		"PIDs and a command": {[]string{"record", "-p", "12", "34", "--", "true"}, exitUsage, `-p "12 34"`},
		"a command, bare":    {[]string{"record", "-o", empty + "/a", "ros2", "run"}, exitUsage, "caret-bpf record -- ros2 run"},
		"a word before --":   {[]string{"record", "ros2", "--", "run"}, exitUsage, "caret-bpf record -- ros2"},
		"no PID":             {[]string{"record", "-p", "talker", "-o", empty + "/a"}, exitUsage, "talker"},
		"bad expression":     {[]string{"record", "--all", "--select-node", "(", "-o", empty + "/a"}, exitUsage, "--select-node"},
		"bad size":           {[]string{"record", "--all", "--buffer-size", "5X"}, exitUsage, "no size"},
		"no size":            {[]string{"record", "--all", "--buffer-size", "0"}, exitUsage, "no size"},
		"negative size":      {[]string{"record", "--all", "--buffer-size=-64M"}, exitUsage, "no size"},
		"no command":         {[]string{"record", "-o", empty + "/a", "--", "caret-bpf-no-such-command"}, exitCommandNotFound, "caret-bpf-no-such-command"},
		"dead process":       {[]string{"record", "-p", "4194304", "-o", empty + "/a"}, exitNoTarget, "4194304"},
		"not ROS 2":          {[]string{"record", "-p", fmt.Sprint(os.Getpid()), "-o", empty + "/a"}, exitNoTarget, "librcl"},
		"probes of nothing":  {[]string{"probes"}, exitUsage, "-p"},
		"info without name":  {[]string{"info"}, exitUsage, "name one dataset"},
		"negative rows":      {[]string{"info", "-n", "-1", empty}, exitUsage, "--rows"},
		"info of no dataset": {[]string{"info", empty}, exitDataset, empty},
		"unknown part":       {[]string{"info", empty, "--part", "robots"}, exitUsage, "tracepoints"},
		"CSV of everything":  {[]string{"info", empty, "--csv"}, exitUsage, "--part"},
		"latency of what":    {[]string{"latency"}, exitUsage, "name what to ask for"},
		"latency's help":     {[]string{"latency", "--help"}, exitSuccess, "response-time"},
		"help of latencies":  {[]string{"latency", "path", "--help"}, exitSuccess, "--use-latest-message"},
		"latency of nothing": {[]string{"latency", "callback"}, exitUsage, "name a dataset"},
		"no dataset":         {[]string{"latency", "callback", empty}, exitDataset, empty},
		"bad filter":         {[]string{"latency", "callback", "--node", "(", empty}, exitUsage, "--node"},
		"two forms":          {[]string{"latency", "callback", "--json", "--csv", empty}, exitUsage, "--csv"},
		"period of what":     {[]string{"period", "--of", "nodes", empty}, exitUsage, "--of"},
		"no interval":        {[]string{"frequency", "--interval", "0s", empty}, exitUsage, "--interval"},
		"calls by callback":  {[]string{"latency", "service", "--callback", "x", empty}, exitUsage, "not chosen by --callback"},
		"topics by callback": {[]string{"period", "--of", "topic", "--callback", "x", empty}, exitUsage, "not chosen by --callback"},
		"counts by callback": {[]string{"frequency", "--of", "topic", "--callback", "x", empty}, exitUsage, "not chosen by --callback"},
		"completion":         {[]string{"completion", "bash"}, exitSuccess, "complete -o default"},
		"no such shell":      {[]string{"completion", "csh"}, exitUsage, "bash, zsh, fish"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.code == exitNoTarget || test.code == exitCommandNotFound {
				requireHostProcessIDs(t)
			}
			code, out, problems := runCommand(test.arguments...)
			if code != test.code || !strings.Contains(out+problems, test.says) {
				t.Errorf("exit code %d, want %d; %q should be in:\n%s%s", code, test.code, test.says, out, problems)
			}
			if _, err := os.Stat(filepath.Join(empty, "a")); err == nil {
				t.Error("a dataset was begun")
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		nil:                             exitSuccess,
		errors.New("anything"):          exitFailure,
		target.ErrNoProcess:             exitNoTarget,
		target.ErrPermission:            exitPermission,
		loader.ErrPermission:            exitPermission,
		loader.ErrUnsupportedKernel:     exitKernel,
		loader.ErrPIDNamespace:          exitKernel,
		loader.ErrNoTracefs:             exitKernel,
		launch.ErrCommand:               exitCommandNotFound,
		writer.ErrDiskFull:              exitOutput,
		writer.ErrExists:                exitOutput,
		writer.ErrUnwritable:            exitOutput,
		trace.ErrNewerFormat:            exitDataset,
		context.DeadlineExceeded:        exitFailure,
		context.Canceled:                exitInterrupted,
		session.ErrNotBegun:             exitInterrupted,
		target.ErrNotROS2:               exitNoTarget,
		errUsage:                        exitUsage,
		errHelp:                         exitSuccess,
		target.ErrForeignNamespace:      exitNoTarget,
		loader.ErrRequiredSite:          exitNoTarget,
		fmt.Errorf("%w", errUsage):      exitUsage,
		errors.Join(errUsage, errUsage): exitUsage,
	} {
		if got := exitCode(err); got != want {
			t.Errorf("exit code %d for %v, want %d", got, err, want)
		}
	}
	documented := map[int]bool{}
	for _, code := range exitCodes {
		if documented[code.code] || code.meaning == "" {
			t.Errorf("exit code %d is documented twice or not", code.code)
		}
		documented[code.code] = true
	}
}

func TestTableEscapesControlCharacters(t *testing.T) {
	var out bytes.Buffer
	printTable(&output{stream: &out}, []string{"NAME", "COUNT>"}, [][]string{{"a\x1b[2Jb", "1"}, {"ünïcode", "1234"}})
	want := "NAME       COUNT\na\\x1b[2Jb      1\nünïcode     1234\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// The completion scripts must at least be syntactically right.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("%s is not installed", shell)
			}
			_, script, _ := runCommand("completion", shell)
			c := exec.Command(shell, check...)
			c.Stdin = strings.NewReader(script)
			if output, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}
