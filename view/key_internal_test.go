package view

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// A key is refused, or has one way to be written that means the same.
func FuzzParseKey(f *testing.F) {
	for _, text := range []string{
		"recording", "tile?level=3&index=5", "paths?from=%2Fa&to=%2Fb%20c", "path?path=%5B%2Fa%5D-[/t]-[/b]", "series?subject=callback&id=3&measure=latency&from=0&to=9",
		"tile?level=3&level=5", "?", "flow?path=%&from=1&to=2", "path?path='%27(~*!",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := parseKey(text)
		if err != nil {
			if !errors.Is(err, ErrBadKey) && !errors.Is(err, ErrNoSuchKey) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if inJSON, err := json.Marshal(k.String()); err != nil || strings.ReplaceAll(string(inJSON), `\u0026`, "&") != nameOf(k) || strings.ContainsAny(nameOf(k), "<>") {
			t.Errorf("%q is named %s in reports, and %s in JSON, %v", text, nameOf(k), inJSON, err)
		}
		again, err := parseKey(k.String())
		if err != nil {
			if len(k.String()) > maxKeyBytes {
				return // what is not encoded is shorter
			}
			t.Fatalf("%q is written %q, which is refused: %v", text, k, err)
		}
		if again.String() != k.String() || again.name != k.name || len(again.values) != len(k.values) {
			t.Errorf("%q is written %q, and then %q", text, k, again)
		}
		for i := range k.values {
			if again.values[i] != k.values[i] {
				t.Errorf("%q: %q became %q", text, k.values[i], again.values[i])
			}
		}
	})
}
