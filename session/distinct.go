package session

import (
	"errors"
	"slices"
	"strings"
)

// distinct is errors.Join that keeps of errors with the same text only the first: a full disk, say, fails everything
// that comes after.
func distinct(errs ...error) error {
	var kept []error
	var texts []string
	for _, err := range errs {
		for _, part := range joined(err) {
			if text := part.Error(); !slices.Contains(texts, text) {
				kept, texts = append(kept, part), append(texts, text)
			}
		}
	}
	return errors.Join(kept...)
}

// joined returns what errors.Join joined, also within each other. Any other error is one.
func joined(err error) []error {
	if err == nil {
		return nil
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var parts []error
	var texts []string
	for _, part := range list.Unwrap() {
		parts = append(parts, joined(part)...)
		texts = append(texts, part.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err} // fmt.Errorf with several causes, which says more than they do
	}
	return parts
}
