package report_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/caret-bpf/caret-bpf/report"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"/ünï/node 点":        "/ünï/node 点",
		"\ufffd":             "\ufffd",
		`a"b\c`:              `a"b\c`,
		"\x1b[2J\a\x00\x7f":  `\x1b[2J\x07\x00\x7f`,
		"\n\t\r":             `\n\t\r`,
		"\u009b2J":           `\u009b2J`,
		"\x9b2J":             `\x9b2J`,
		"\xff\xfe\x80":       `\xff\xfe\x80`,
		"a\xe2\x82":          `a\xe2\x82`,
		"\u202e\u2066\u200e": `\u202e\u2066\u200e`,
		"\u2028\u2029\u0085": `\u2028\u2029\u0085`,
		"\U000e0041":         `\U000e0041`,
	} {
		if got := report.Printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func harmless(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' })
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b]0;a\a\x9b\u009b\u202e\u2028\xff\xf0\x9f\U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		if shown := report.Printable(text); !harmless(shown) || strings.Contains(shown, "\n") {
			t.Errorf("%q is shown as %q", text, shown)
		}
		var encoded bytes.Buffer
		if err := report.WriteJSON(&encoded, map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(encoded.Bytes(), &got); err != nil {
			t.Fatalf("%v in %s", err, encoded.Bytes())
		}
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if !harmless(encoded.String()) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is encoded as %q", text, encoded.String())
		}
	})
}
