package report

import "strings"

// Parts returns what errors.Join joined, also within each other. Any other error is one.
func Parts(err error) []error {
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
		parts = append(parts, Parts(part)...)
		texts = append(texts, part.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err} // fmt.Errorf with several causes, which says more than they do
	}
	return parts
}
