package main

import "testing"

func TestSimilarCommand(t *testing.T) {
	for text, want := range map[string]string{
		"rekord": "record", "lst": "list", "rec": "record", "comp": "completion", "vresion": "version", "probe": "probes",
		"": "", "x": "", "latency-of-everything": "", "RECORD": "",
	} {
		if got := similarCommand(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
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
