package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The manual has every command and every flag, and roff understands it.
func TestManual(t *testing.T) {
	code, page, problems := runCommand("man")
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	requireFlags := func(of command, name string) {
		if !strings.Contains(page, `.SS "caret\-bpf `+roff(name)+"\"\n") {
			t.Errorf("%s is missing", name)
		}
		if of.define == nil {
			return
		}
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		of.define(flags)
		flags.VisitAll(func(flag *pflag.Flag) {
			if !strings.Contains(page, `\-\-`+strings.ReplaceAll(flag.Name, "-", `\-`)+`"`) {
				t.Errorf("%s: --%s is missing", name, flag.Name)
			}
		})
	}
	for _, command := range commands() {
		requireFlags(command, command.name)
		for _, sub := range command.subcommands {
			requireFlags(sub, command.name+" "+sub.name)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed: the page was not formatted")
	}
	format := exec.Command("groff", "-man", "-ww", "-Tutf8", "-K", "utf8")
	format.Stdin = strings.NewReader(page)
	var warnings strings.Builder
	format.Stderr = &warnings
	text, err := format.Output()
	if err != nil || warnings.Len() > 0 || len(text) < len(page)/2 {
		t.Errorf("groff: %v, %d bytes of %d: %s", err, len(text), len(page), warnings.String())
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".start": `\&.start`, `a\b`: `a\eb`, "--flag": `\-\-flag`, "'quoted'": `\(aqquoted\(aq`, "plain": "plain",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
