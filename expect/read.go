package expect

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxFile bounds what is read of a file, in bytes.
	MaxFile = 16 << 20
	// maxExpectations bounds how many a file may have, maxProblems how many that is wrong are told at once.
	maxExpectations = 10_000
	maxProblems     = 20
	// maxRepeated bounds what patterns repeat, such as 1000 for a{1000}: each takes some 100 bytes of memory.
	maxRepeated = 1_000_000
)

// Keys of a file.
const (
	keyComplete     = "complete"
	keyExpectations = "expectations"
	keyName         = "name"
	keyOf           = "of"
	keyPath         = "path"
	keyFrom         = "from"
	keyTo           = "to"
	keyWhere        = "where"
	keyAtLeast      = "at-least"
	keyAtMost       = "at-most"
)

// Read reads a file. similar returns the name that was most likely meant by a text, "" if none is like it. What is
// wrong is told at once; each such error is an ErrFile.
func Read(name string, from io.Reader, similar func(text string, names []string) string) (*File, error) {
	content, err := io.ReadAll(io.LimitReader(from, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > MaxFile {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrFile, name, MaxFile)
	}
	r := &reader{name: name, similar: similar}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, name, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %s has more than one document", ErrFile, name)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("%w: %s is empty", ErrFile, name)
	}
	file := r.file(document.Content[0])
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return file, nil
}

// reader is what is read of one file.
type reader struct {
	name     string
	similar  func(string, []string) string
	problems []error
	repeated int // by patterns
}

func (r *reader) complain(at *yaml.Node, format string, arguments ...any) {
	if len(r.problems) >= maxProblems {
		return
	}
	r.problems = append(r.problems, fmt.Errorf("%w: %s:%d: %w", ErrFile, r.name, at.Line, fmt.Errorf(format, arguments...)))
}

// meant says which of some names there are, and which was most likely meant.
func (r *reader) meant(text string, names []string) string {
	if meant := r.similar(text, names); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return "there are " + strings.Join(names, ", ")
}

// mapping calls a function for each key of a mapping. Keys may be repeated nowhere.
func (r *reader) mapping(at *yaml.Node, what string, each func(key string, at, value *yaml.Node)) {
	if at.Kind != yaml.MappingNode {
		r.complain(at, "%s is no mapping of keys to values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(at.Content); i += 2 {
		key, value := at.Content[i], at.Content[i+1]
		if len(r.problems) >= maxProblems {
			return
		}
		if seen[key.Value] {
			r.complain(key, "%q is said twice", key.Value)
			continue
		}
		seen[key.Value] = true
		each(key.Value, key, value)
	}
}

// unknown complains of a key that is none of some.
func (r *reader) unknown(at *yaml.Node, what string, names []string) {
	r.complain(at, "%q is no %s; %s", at.Value, what, r.meant(at.Value, names))
}

func (r *reader) file(at *yaml.Node) *File {
	f := new(File)
	r.mapping(at, "the file", func(key string, at, value *yaml.Node) {
		switch {
		case key == keyComplete:
			if err := value.Decode(&f.Complete); err != nil || value.Tag != "!!bool" {
				r.complain(value, "%s is true or false", keyComplete)
			}
		case key != keyExpectations:
			r.unknown(at, "key", []string{keyComplete, keyExpectations})
		case value.Kind != yaml.SequenceNode || len(value.Content) > maxExpectations:
			r.complain(value, "%s is a list of at most %d", keyExpectations, maxExpectations)
		default:
			for _, one := range value.Content {
				f.Expectations = append(f.Expectations, r.expectation(one))
			}
		}
	})
	if !f.Complete && len(f.Expectations) == 0 && len(r.problems) == 0 {
		r.complain(at, "nothing is expected")
	}
	return f
}

func (r *reader) expectation(at *yaml.Node) Expectation {
	e := Expectation{Line: at.Line}
	parts := map[string]*yaml.Node{}
	r.mapping(at, "an expectation", func(key string, at, value *yaml.Node) {
		switch key {
		case keyName:
			e.Name = r.text(value, key)
		case keyOf:
			e.Of = r.text(value, key)
		case keyPath:
			e.Path = r.text(value, key)
		case keyFrom:
			e.From = r.text(value, key)
		case keyTo:
			e.To = r.text(value, key)
		case keyWhere, keyAtLeast, keyAtMost:
			parts[key] = value
		default:
			r.unknown(at, "key", []string{keyName, keyOf, keyPath, keyFrom, keyTo, keyWhere, keyAtLeast, keyAtMost})
		}
	})
	subject := subjectNamed(e.Of)
	switch {
	case at.Kind != yaml.MappingNode:
		return e
	case subject == nil:
		var names []string
		for _, s := range subjects() {
			names = append(names, s.name)
		}
		r.complain(at, "%s: %q is nothing of which something can be expected; %s", keyOf, e.Of, r.meant(e.Of, names))
		return e
	}
	if isPath, names := e.Of == pathSubject, e.Path != "" || e.From != "" && e.To != ""; isPath != names || !isPath && (e.From != "" || e.To != "") ||
		e.Path != "" && (e.From != "" || e.To != "") {
		r.complain(at, "%s and %s, or %s, name a path, and nothing else", keyFrom, keyTo, keyPath)
	}
	if e.Name == "" {
		e.Name, e.unnamed = fmt.Sprintf("%s at line %d", e.Of, e.Line), true
	}
	if where := parts[keyWhere]; where != nil {
		r.mapping(where, keyWhere, func(column string, at, value *yaml.Node) { r.condition(&e, subject, column, at, value) })
	}
	for _, key := range []string{keyAtLeast, keyAtMost} {
		if bounds := parts[key]; bounds != nil {
			r.mapping(bounds, key, func(column string, at, value *yaml.Node) { r.bound(&e, subject, key == keyAtLeast, column, at, value) })
		}
	}
	return e
}

func (r *reader) text(at *yaml.Node, key string) string {
	if at.Kind != yaml.ScalarNode || at.Value == "" {
		r.complain(at, "%s is a text", key)
		return ""
	}
	return at.Value
}

func (r *reader) condition(e *Expectation, s *subject, column string, at, value *yaml.Node) {
	if !slices.Contains(s.texts, column) {
		r.unknown(at, fmt.Sprintf("column of a %s that is a text", s.name), s.texts)
		return
	}
	text := r.text(value, column)
	alone, err := syntax.Parse(text, syntax.Perl) // what is put around it may pair its parentheses
	if err != nil {
		r.complain(value, "%s: %w", column, err)
		return
	}
	program, err := syntax.Compile(alone.Simplify())
	if err != nil {
		r.complain(value, "%s: %w", column, err)
		return
	}
	if r.repeated += max(len(program.Inst)-2*len(text), 0); r.repeated > maxRepeated {
		r.complain(value, "%s: the patterns so far repeat more than %d characters", column, maxRepeated)
		return
	}
	pattern, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		r.complain(value, "%s: %w", column, err)
		return
	}
	e.Where = append(e.Where, Condition{column, pattern})
}

func (r *reader) bound(e *Expectation, s *subject, least bool, column string, at, value *yaml.Node) {
	if !slices.Contains(s.numbers, column) {
		r.unknown(at, fmt.Sprintf("column of a %s that is a number", s.name), s.numbers)
		return
	}
	text := r.text(value, column)
	if s.isDuration(column) {
		d, err := time.ParseDuration(text)
		if err != nil {
			r.complain(value, "%s is a time with its unit, such as 20ms: %w", column, err)
		}
		e.Bounds = append(e.Bounds, Bound{column, least, float64(d)})
		return
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		r.complain(value, "%s is a number: %q is none", column, text)
	}
	e.Bounds = append(e.Bounds, Bound{column, least, number})
}
