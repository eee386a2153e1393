package expect_test

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/test/yamlschema"
)

// What fits the schema is understood, and what is wrong does not fit.
func TestSchema(t *testing.T) {
	published, err := expect.Schema()
	if err != nil {
		t.Fatal(err)
	}
	schema := yamlschema.Compile(t, published)
	for text, want := range map[string]bool{
		"complete: true": true,
		"expectations: [{of: topic, where: {topic_name: /points}, at-least: {rate: 9.5}, at-most: {p99: 3ms, max: 1.5s}}]": true,
		"expectations: [{of: path, from: /a, to: /b}, {of: path, path: '/a>/b', name: x}]":                                 true,
		"{complete: false, expectations: [{of: start, at-most: {max: 1m30s}}]}":                                            true,

		"complete: false":              false,
		"expectations: []":             false,
		"complete: 1":                  false,
		"compete: true":                false,
		"expectations: [{of: topics}]": false,
		"expectations: [{name: x}]":    false,
		"expectations: [{of: topic, where: {topic: x}}]":              false,
		"expectations: [{of: topic, at-most: {p99: 3}}]":              false,
		"expectations: [{of: topic, at-most: {p99: 3 ms}}]":           false,
		"expectations: [{of: topic, at-most: {rate: fast}}]":          false,
		"expectations: [{of: topic, at-most: {topic_name: 3}}]":       false,
		"expectations: [{of: topic, from: /a, to: /b}]":               false,
		"expectations: [{of: path}]":                                  false,
		"expectations: [{of: path, from: /a}]":                        false,
		"expectations: [{of: path, from: /a, to: /b, path: '/a>/b'}]": false,
		"expectations: [{of: callback, at_most: {p99: 3ms}}]":         false,
		"expectations: [{of: callback, at-most: [p99]}]":              false,
		"expectations: {of: callback}":                                false,
		"expectations: [callback]":                                    false,
	} {
		_, readError := expect.Read("file", strings.NewReader(text), noneAlike)
		if fits, ok := schema.Fits(text); !ok || fits != want || (readError == nil) != want {
			t.Errorf("%s fits: %v, and is read with %v; want %v", text, fits, readError, want)
		}
	}
}
