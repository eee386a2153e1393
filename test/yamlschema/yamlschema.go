// Package yamlschema holds YAML files against JSON schemas in tests.
package yamlschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Schema is a JSON schema.
type Schema struct{ compiled *jsonschema.Schema }

// Compile reads a schema.
func Compile(tb testing.TB, text []byte) *Schema {
	tb.Helper()
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	const name = "schema.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, content); err != nil {
		tb.Fatal(err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return &Schema{compiled}
}

// Fits reports whether a file fits; ok is false where it is no single document of YAML that JSON could say.
func (s *Schema) Fits(file string) (fits, ok bool) {
	decoder := yaml.NewDecoder(strings.NewReader(file))
	var content any
	if err := decoder.Decode(&content); err != nil && !errors.Is(err, io.EOF) {
		return false, false
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return false, false // Unmarshal would read the first document alone
	}
	text, err := json.Marshal(content)
	if err != nil {
		return false, false
	}
	content, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return err == nil && s.compiled.Validate(content) == nil, err == nil
}
