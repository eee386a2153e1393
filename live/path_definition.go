package live

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrPath is returned for a text that defines no path.
var ErrPath = errors.New("a path is from=REGEXP to=REGEXP, of topics")

// MaxPaths bounds how many paths a window follows: each keeps up to 70 MiB of messages in mind.
const MaxPaths = 4

// PathDefinition is a path that is asked for, by what the topics at its begin and its end match.
type PathDefinition struct {
	From, To *regexp.Regexp
}

// ParsePaths reads definitions of paths. It fails with ErrPath.
func ParsePaths(texts []string) (paths []PathDefinition, err error) {
	if len(texts) > MaxPaths {
		return nil, fmt.Errorf("%w; at most %d are followed", ErrPath, MaxPaths)
	}
	for _, text := range texts {
		path, err := parsePath(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %.80q: %w", ErrPath, text, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func parsePath(text string) (d PathDefinition, err error) {
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		end := map[string]**regexp.Regexp{"from": &d.From, "to": &d.To}[key]
		switch {
		case end == nil || value == "":
			return d, fmt.Errorf("%q is neither", word)
		case *end != nil:
			return d, fmt.Errorf("%s is said twice", key)
		}
		if *end, err = regexp.Compile(value); err != nil {
			return d, err
		}
	}
	if d.From == nil || d.To == nil {
		return d, errors.New("one of them is missing")
	}
	return d, nil
}
