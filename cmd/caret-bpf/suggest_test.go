package main

import (
	"strings"
	"testing"
)

func TestSimilarCommand(t *testing.T) {
	for text, want := range map[string]string{
		"rekord": "record", "lst": "list", "rec": "record", "comp": "completion", "vresion": "version", "probe": "probes",
		"": "", "x": "", "latency-of-everything": "", "RECORD": "",
	} {
		if got := similarCommand(text, commands()); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWhatWasMeantIsSaid(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		says      string // "": nothing is like it
	}{
		{[]string{"grap"}, `did you mean "graph"?`},
		{[]string{"latency", "nod", "x"}, "did you mean `latency node`?"},
		{[]string{"latency", "everything"}, ""},
		{[]string{"graph", "x", "--mermiad"}, "did you mean --mermaid?"},
		{[]string{"graph", "x", "--all"}, "did you mean --all-entities?"},
		{[]string{"graph", "x", "--everything"}, ""},
		{[]string{"graph", "x", "-z"}, ""},
	} {
		code, _, problems := runCommand(test.arguments...)
		if code != exitUsage || !strings.Contains(problems, test.says) || test.says == "" && strings.Contains(problems, "did you mean") {
			t.Errorf("%q: exit code %d: %s", test.arguments, code, problems)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"list", "list", 0}, {"flaw", "lawn", 2}} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q, %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
