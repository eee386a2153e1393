package settings

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/pflag"
)

// Pattern says what flags of a type can be, besides what their Set method says.
type Pattern struct {
	// Text is a regular expression (ECMA 262) for texts.
	Text string
	// Integers says that numbers without a unit will do.
	Integers bool
}

// property is one of a JSON schema.
type property struct {
	Description string    `json:"description,omitempty"`
	Type        any       `json:"type,omitempty"` // one name, or several
	Enum        []string  `json:"enum,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	Items       *property `json:"items,omitempty"`
}

// Schema returns the JSON schema (2020-12) of a file. Whatever fits it is understood by Apply, as far as flags have
// values or patterns. These are by what the Type method of a flag returns.
func (f *Form) Schema(title string, patterns map[string]Pattern) ([]byte, error) {
	properties := map[string]*property{}
	f.each(func(flag *pflag.Flag) { properties[flag.Name] = describe(flag, patterns) })
	if f.Words != "" {
		properties[f.Words] = &property{Description: f.Usage, Type: "array", Items: scalar(nil)}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(struct {
		Schema     string               `json:"$schema"`
		Title      string               `json:"title"`
		Type       []string             `json:"type"`
		Additional bool                 `json:"additionalProperties"`
		Properties map[string]*property `json:"properties"`
	}{"https://json-schema.org/draft/2020-12/schema", title, []string{"object", "null"}, false, properties})
	return out.Bytes(), err
}

// scalar is a text, which YAML may take for a number.
func scalar(p *property) *property {
	if p == nil {
		p = new(property)
	}
	p.Type = []string{"string", "number", "boolean"}
	return p
}

func describe(flag *pflag.Flag, patterns map[string]Pattern) *property {
	p := &property{Description: explain(flag.Usage)}
	_, joins := separator(flag)
	pattern, hasPattern := patterns[flag.Value.Type()]
	switch {
	case isBool(flag):
		p.Type = "boolean"
	case isRepeatable(flag), joins:
		p.Type = []string{"string", "number", "boolean", "array"}
		p.Items = scalar(nil)
	case len(flag.Annotations[Values]) > 0:
		p.Enum = flag.Annotations[Values]
	case hasPattern:
		p.Pattern, p.Type = pattern.Text, "string"
		if pattern.Integers {
			p.Type = []string{"string", "integer"}
		}
	default:
		scalar(p)
	}
	return p
}
