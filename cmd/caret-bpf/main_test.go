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
	"sync/atomic"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// runCommand runs the program with arguments and returns its exit code and what it printed.
func runCommand(arguments ...string) (code int, out, problems string) {
	var stdout, stderr bytes.Buffer
	err := run(context.Background(), console{out: &stdout, err: &stderr, getenv: func(string) string { return "" }, launched: new(atomic.Int64)}, arguments)
	if err != nil && !errors.Is(err, errHelp) {
		fmt.Fprint(&stderr, err)
	}
	return exitCode(err), stdout.String(), stderr.String()
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
		"unknown command":    {[]string{"rekord"}, exitUsage, `no command "rekord"`},
		"unknown flag":       {[]string{"list", "--color"}, exitUsage, "unknown flag"},
		"version":            {[]string{"version"}, exitSuccess, "dataset format 1"},
		"version as a flag":  {[]string{"--version"}, exitSuccess, "dataset format 1"},
		"superfluous":        {[]string{"version", "now"}, exitUsage, `unexpected "now"`},
		"no target":          {[]string{"record"}, exitUsage, "name the processes in one way"},
		"two ways":           {[]string{"record", "-p", "1", "--all"}, exitUsage, "name the processes in one way"},
		"no PID":             {[]string{"record", "-p", "talker", "-o", empty + "/a"}, exitUsage, "talker"},
		"bad expression":     {[]string{"record", "--all", "--select-node", "(", "-o", empty + "/a"}, exitUsage, "--select-node"},
		"bad size":           {[]string{"record", "--all", "--buffer-size", "5X"}, exitUsage, "no size"},
		"dead process":       {[]string{"record", "-p", "4194304", "-o", empty + "/a"}, exitNoTarget, "4194304"},
		"not ROS 2":          {[]string{"record", "-p", fmt.Sprint(os.Getpid()), "-o", empty + "/a"}, exitNoTarget, "librcl"},
		"probes of nothing":  {[]string{"probes"}, exitUsage, "-p"},
		"info without name":  {[]string{"info"}, exitUsage, "name one dataset"},
		"info of no dataset": {[]string{"info", empty}, exitDataset, empty},
		"completion":         {[]string{"completion", "bash"}, exitSuccess, "complete -o default"},
		"no such shell":      {[]string{"completion", "csh"}, exitUsage, "bash, zsh, fish"},
	} {
		t.Run(name, func(t *testing.T) {
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
		writer.ErrDiskFull:              exitOutput,
		writer.ErrExists:                exitOutput,
		trace.ErrNewerFormat:            exitDataset,
		context.DeadlineExceeded:        exitFailure,
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

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int{"4096": 4096, "64K": 64 << 10, "16M": 16 << 20, "16MiB": 16 << 20, "1g": 1 << 30, "2G": -1, "": -1, "M": -1, "-1": -1, "0": -1} {
		var size byteSize
		err := size.Set(text)
		if want < 0 {
			if err == nil {
				t.Errorf("%q is taken for %d", text, size)
			}
			continue
		}
		if err != nil || int(size) != want {
			t.Errorf("%q gives %d, %v, want %d", text, size, err, want)
		}
	}
}

func TestTableEscapesControlCharacters(t *testing.T) {
	var out bytes.Buffer
	printTable(&out, []string{"NAME", "COUNT>"}, [][]string{{"a\x1b[2Jb", "1"}, {"ünïcode", "1234"}})
	want := "NAME       COUNT\na\\x1b[2Jb      1\nünïcode     1234\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestFormatCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000"} {
		if got := formatCount(n); got != want {
			t.Errorf("%d is shown as %s, want %s", n, got, want)
		}
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
