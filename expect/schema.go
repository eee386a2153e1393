package expect

import (
	"bytes"
	"encoding/json"
)

// schemaDuration is a time as bounds have it, of so few digits and units that it is no more than a time can be.
const schemaDuration = `^[-+]?([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|µs|ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h)){1,6}$`

// object is a part of a JSON schema.
type object map[string]any

// Schema returns the JSON schema (2020-12) of files with expectations. Whatever fits it is understood by Read, as far
// as regular expressions are.
func Schema() ([]byte, error) {
	var kinds []object
	for i := range subjects() {
		kinds = append(kinds, subjects()[i].schema())
	}
	schema := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "caret-bpf verify",
		"type": "object", "additionalProperties": false,
		"anyOf": []object{
			{"required": []string{keyComplete}, "properties": object{keyComplete: object{"const": true}}},
			{"required": []string{keyExpectations}, "properties": object{keyExpectations: object{"minItems": 1}}},
		},
		"properties": object{
			keyComplete: object{"type": "boolean", "description": "nothing was lost, and each file was probed as long as a process had it mapped"},
			keyExpectations: object{
				"type": "array", "maxItems": maxExpectations, "items": object{"type": "object", "required": []string{keyOf}, "oneOf": kinds},
			},
		},
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(schema)
	return out.Bytes(), err
}

// schema describes an expectation of one kind.
func (s *subject) schema() object {
	name := object{"type": "string", "minLength": 1}
	texts, bounds := object{}, object{}
	for _, column := range s.texts {
		texts[column] = object{"type": "string", "minLength": 1, "format": "regex"}
	}
	for _, column := range s.numbers {
		bounds[column] = object{"type": "number"}
		if s.isDuration(column) {
			bounds[column] = object{"type": "string", "pattern": schemaDuration}
		}
	}
	limits := object{"type": "object", "additionalProperties": false, "properties": bounds}
	properties := object{
		keyOf: object{"const": s.name}, keyName: name, keyAtLeast: limits, keyAtMost: limits,
		keyWhere: object{"type": "object", "additionalProperties": false, "properties": texts},
	}
	described := object{"additionalProperties": false, "properties": properties}
	if s.name == pathSubject {
		properties[keyPath], properties[keyFrom], properties[keyTo] = name, name, name
		described["oneOf"] = []object{
			{"required": []string{keyPath}, "not": object{"anyOf": []object{{"required": []string{keyFrom}}, {"required": []string{keyTo}}}}},
			{"required": []string{keyFrom, keyTo}, "not": object{"required": []string{keyPath}}},
		}
	}
	return described
}
