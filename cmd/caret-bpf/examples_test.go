package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// shellWord is a word of a command line: in quotes, or none of what ends the arguments.
var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// wordsOf returns the arguments that an example's program gets, without what the shell does with its output.
func wordsOf(t *testing.T, example string) (words []string) {
	t.Helper()
	_, line, found := strings.Cut(example, "caret-bpf ")
	if !found {
		t.Fatalf("it does not run the program: %s", example)
	}
	for _, word := range shellWord.FindAllString(line, -1) {
		if strings.HasPrefix(word, ">") || word == "|" || word == "&&" {
			return words
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	if strings.Contains(example, "<(") {
		words[len(words)-1] = strings.TrimSuffix(words[len(words)-1], ")")
	}
	return words
}

// checkExamples fails for examples that the flags of their command do not take, that its help does not show, or that
// are too few. It returns their arguments.
func checkExamples(t *testing.T, of command, name string) (all [][]string) {
	t.Helper()
	if len(of.examples) < 2 || len(of.examples) > 3 {
		t.Errorf("it has %d examples", len(of.examples))
	}
	_, help, _ := runCommand(append(strings.Fields(name), "--help")...)
	for _, example := range of.examples {
		if !strings.Contains(help, "\n  "+example+"\n") {
			t.Errorf("the help does not show %s", example)
		}
		words := wordsOf(t, example)
		if line := strings.Join(words, " "); line != name && !strings.HasPrefix(line, name+" ") {
			t.Errorf("it is no example of %s: %s", name, example)
			continue
		}
		all = append(all, words)
		if len(of.subcommands) > 0 {
			continue // those have it, too
		}
		flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
		of.define(flags)
		if err := flags.Parse(words[len(strings.Fields(name)):]); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
	return all
}

// Each help has examples, and each is a line that the program takes.
func TestExamples(t *testing.T) {
	var asked [][]string
	for _, command := range commands() {
		t.Run(command.name, func(t *testing.T) {
			asked = append(asked, checkExamples(t, command, command.name)...)
			for _, sub := range command.subcommands {
				t.Run(sub.name, func(t *testing.T) {
					asked = append(asked, checkExamples(t, sub, command.name+" "+sub.name)...)
				})
			}
		})
	}
	folder := t.TempDir()
	for _, name := range []string{"rec", "monday", "tuesday", "front", "rear"} {
		if err := os.Rename(relayDataset(t), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	_, architecture, _ := runCommand("graph", "rec", "--yaml")
	if err := os.WriteFile("architecture.yaml", []byte(architecture), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("expect.yaml", []byte("expectations: [{of: callback}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("lake/recording", 0o755); err != nil { // a lake without recordings
		t.Fatal(err)
	}
	// Those look at processes, or go on until they are interrupted.
	isNotAsked := map[string]bool{"record": true, "top": true, "list": true, "probes": true, "check": true, "forward": true}
	for _, words := range asked {
		if isNotAsked[words[0]] {
			continue
		}
		// The datasets lack what examples name: that is told as wrong usage of a path.
		code, _, problems := runCommand(words...)
		if code == exitDataset || code == exitUsage && !strings.Contains(problems, "no such topic or node") {
			t.Errorf("%v: exit code %d: %s", words, code, problems)
		}
	}
}
