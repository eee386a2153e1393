package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completeInBash returns what bash offers behind the words of a command line, of which the last may be half of one.
func completeInBash(t *testing.T, words ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	script := bashCompletion() + fmt.Sprintf("COMP_WORDS=(caret-bpf '%s'); COMP_CWORD=%d; _caret_bpf; printf '%%s\\n' \"${COMPREPLY[@]}\"\n",
		strings.Join(words, "' '"), len(words))
	out, err := exec.Command("bash", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// Every command has a help, and every flag of it is explained there and completed.
func TestEveryFlagIsCompletedAndExplained(t *testing.T) {
	fish := fishCompletion()
	for _, command := range commands() {
		t.Run(command.name, func(t *testing.T) {
			code, help, _ := runCommand(command.name, "--help")
			if code != exitSuccess || !strings.Contains(help, "usage: caret-bpf "+command.name) {
				t.Errorf("exit code %d, help: %s", code, help)
			}
			for _, sub := range command.subcommands {
				_, more, _ := runCommand(command.name, sub.name, "--help")
				help += more
			}
			offered := completeInBash(t, command.name, "-")
			for _, flag := range flagsOf(command) {
				if flag.Usage == "" || !strings.Contains(help, "--"+flag.Name) {
					t.Errorf("--%s is not explained", flag.Name)
				}
				if !slices.Contains(offered, "--"+flag.Name) || flag.Shorthand != "" && !slices.Contains(offered, "-"+flag.Shorthand) {
					t.Errorf("bash does not complete --%s", flag.Name)
				}
				if !strings.Contains(fish, fmt.Sprintf("__fish_seen_subcommand_from %s' -l %s ", command.name, flag.Name)) {
					t.Errorf("fish does not complete --%s", flag.Name)
				}
			}
			for _, words := range [][]string{{command.name[:3]}, {"help", command.name[:3]}} {
				if !slices.Contains(completeInBash(t, words...), command.name) {
					t.Errorf("bash does not complete %q", words)
				}
			}
		})
	}
	if offered := completeInBash(t, "completion", "z"); !slices.Equal(offered, []string{"zsh"}) {
		t.Errorf("bash completes shells as %q", offered)
	}
}
