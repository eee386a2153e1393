package session

import (
	"errors"
	"slices"

	"github.com/caret-bpf/caret-bpf/report"
)

// joinDistinct is errors.Join that keeps of errors with the same text only the first: a full disk, say, fails
// everything that comes after.
func joinDistinct(errs ...error) error {
	var kept []error
	var texts []string
	for _, err := range errs {
		for _, part := range report.Parts(err) {
			if text := part.Error(); !slices.Contains(texts, text) {
				kept, texts = append(kept, part), append(texts, text)
			}
		}
	}
	return errors.Join(kept...)
}
