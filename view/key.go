package view

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

var (
	// ErrNoSuchKey is wrapped by errors for keys that have no answer, whatever the recordings.
	ErrNoSuchKey = errors.New("there is no such answer")
	// ErrBadKey is wrapped by errors for keys whose parameters are wrong.
	ErrBadKey = errors.New("the question is not well-formed")
)

// maxKeyBytes bounds the length of keys. A path of 50 nodes with long names fits.
const maxKeyBytes = 32 << 10

// forms are the parameters of each name of a key, in their order: some names have several forms.
var forms = map[string][][]string{
	"recording":      {{}},
	"connections":    {{}},
	"graph":          {{}},
	"callbacks":      {{}},
	"communications": {{}},
	"timers":         {{}},
	"topics":         {{}},
	"loads":          {{}},
	"losses":         {{}},
	"delays":         {{}},
	"offcpus":        {{}},
	"compare":        {{}},
	"comparedparts":  {{}, {"path"}},
	"paths":          {{}, {"from", "to"}},
	"path":           {{"path"}},
	"flow":           {{"path", "from", "to"}},
	"series":         {{"subject", "id", "measure", "from", "to"}},
	"tile":           {{"level", "index"}},
	"offcpu":         {{"level", "index"}},
}

// key is a question.
type key struct {
	name       string
	parameters []string
	values     []string
}

// parseKey reads a key. Values are percent-encoded, in whichever way.
func parseKey(text string) (key, error) {
	if len(text) > maxKeyBytes {
		return key{}, fmt.Errorf("%w: it is longer than %d bytes", ErrBadKey, maxKeyBytes)
	}
	name, query, _ := strings.Cut(text, "?")
	known, ok := forms[name]
	if !ok {
		return key{}, fmt.Errorf("%w: %q", ErrNoSuchKey, name)
	}
	k := key{name: name}
	if query != "" {
		for pair := range strings.SplitSeq(query, "&") {
			parameter, encoded, _ := strings.Cut(pair, "=")
			value, err := url.PathUnescape(encoded)
			if err != nil {
				return key{}, fmt.Errorf("%w: %s: %w", ErrBadKey, name, err)
			}
			k.parameters, k.values = append(k.parameters, parameter), append(k.values, value)
		}
	}
	for _, form := range known {
		if strings.Join(form, "&") == strings.Join(k.parameters, "&") {
			return k, nil
		}
	}
	return key{}, fmt.Errorf("%w: %s takes the parameters %s, in this order", ErrBadKey, name, describeForms(known))
}

func describeForms(all [][]string) string {
	var texts []string
	for _, form := range all {
		if len(form) == 0 {
			texts = append(texts, "none")
		} else {
			texts = append(texts, strings.Join(form, ", "))
		}
	}
	return strings.Join(texts, ", or ")
}

// newKey makes a key of the form that the parameters have.
func newKey(name string, values ...string) key {
	for _, form := range forms[name] {
		if len(form) == len(values) {
			return key{name, form, values}
		}
	}
	panic("view: no form of " + name + " has so many parameters")
}

// String is the key as the page writes it.
func (k key) String() string {
	if len(k.parameters) == 0 {
		return k.name
	}
	pairs := make([]string, len(k.parameters))
	for i, parameter := range k.parameters {
		pairs[i] = parameter + "=" + encodeComponent(k.values[i])
	}
	return k.name + "?" + strings.Join(pairs, "&")
}

// unescaped are the characters, besides letters and digits, that JavaScript's encodeURIComponent leaves as they are.
const unescaped = "-_.!~*'()"

// encodeComponent is JavaScript's encodeURIComponent.
func encodeComponent(text string) string {
	var encoded strings.Builder
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(unescaped, c) >= 0 {
			encoded.WriteByte(c)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", c)
		}
	}
	return encoded.String()
}

// value returns a parameter.
func (k key) value(parameter string) string {
	for i, name := range k.parameters {
		if name == parameter {
			return k.values[i]
		}
	}
	return ""
}

// has tells whether the form of the key has a parameter.
func (k key) has(parameter string) bool {
	for _, name := range k.parameters {
		if name == parameter {
			return true
		}
	}
	return false
}

// number returns a parameter that is a decimal number from 0 to most.
func (k key) number(parameter string, most int64) (int64, error) {
	text := k.value(parameter)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most || strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%w: %s: %s is a number from 0 to %d", ErrBadKey, k.name, parameter, most)
	}
	return n, nil
}
