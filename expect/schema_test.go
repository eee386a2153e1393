package expect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/caret-bpf/caret-bpf/expect"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := expect.Schema()
	if err != nil {
		t.Fatal(err)
	}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("expect.json", content); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("expect.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// What fits the schema is understood, and what is wrong does not fit.
func TestSchema(t *testing.T) {
	schema := compiledSchema(t)
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
		var content any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if content, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
			t.Fatal(err)
		}
		_, readError := expect.Read("file", strings.NewReader(text), noneAlike)
		if fits := schema.Validate(content) == nil; fits != want || (readError == nil) != want {
			t.Errorf("%s fits: %v, and is read with %v; want %v", text, fits, readError, want)
		}
	}
}
