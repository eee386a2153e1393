package trace

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Attribute is something that the user has noted of a recording, such as its vehicle, software version or route.
type Attribute struct {
	Key   string `column:"key"`
	Value string `column:"value"`
}

// ErrAttribute is returned for a text that is no attribute.
var ErrAttribute = errors.New("an attribute is KEY=VALUE")

// Limits of attributes, in bytes.
const (
	maxAttributeKey   = 64
	maxAttributeValue = 256
)

var attributeKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// ParseAttribute reads KEY=VALUE. The error wraps ErrAttribute.
func ParseAttribute(text string) (Attribute, error) {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return Attribute{}, fmt.Errorf("%w, not %q", ErrAttribute, text)
	}
	if err := CheckAttributeKey(key); err != nil {
		return Attribute{}, err
	}
	if value == "" || len(value) > maxAttributeValue || !utf8.ValidString(value) {
		return Attribute{}, fmt.Errorf("%w: the value of %s has from 1 to %d bytes of UTF-8", ErrAttribute, key, maxAttributeValue)
	}
	return Attribute{key, value}, nil
}

// CheckAttributeKey returns an error that wraps ErrAttribute for what cannot be the key of an attribute.
func CheckAttributeKey(key string) error {
	if len(key) > maxAttributeKey || !attributeKey.MatchString(key) {
		return fmt.Errorf("%w: the key %q begins with a letter, and has letters, digits, '_', '.' and '-', at most %d", ErrAttribute, key, maxAttributeKey)
	}
	return nil
}

// SetAttributes notes attributes in the session.
func (s *Session) SetAttributes(attributes []Attribute) {
	s.Attributes = make(map[string]string, len(attributes))
	for _, a := range attributes {
		s.Attributes[a.Key] = a.Value
	}
}
