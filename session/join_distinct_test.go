package session

import (
	"errors"
	"fmt"
	"testing"
)

func TestDistinct(t *testing.T) {
	full, gone := errors.New("disk full"), errors.New("gone")
	for name, test := range map[string]struct {
		errs []error
		want string
	}{
		"none":              {[]error{nil, nil}, ""},
		"one":               {[]error{nil, full}, "disk full"},
		"the same":          {[]error{full, gone, full}, "disk full\ngone"},
		"the same text":     {[]error{full, errors.New("disk full")}, "disk full"},
		"within each other": {[]error{errors.Join(full, errors.Join(full, gone)), full}, "disk full\ngone"},
		"more words":        {[]error{full, fmt.Errorf("write: %w", full)}, "disk full\nwrite: disk full"},
		"several causes":    {[]error{fmt.Errorf("%w: %w", gone, full), full}, "gone: disk full\ndisk full"},
	} {
		t.Run(name, func(t *testing.T) {
			err := joinDistinct(test.errs...)
			if err == nil {
				if test.want != "" {
					t.Errorf("no error, not %q", test.want)
				}
				return
			}
			if err.Error() != test.want {
				t.Errorf("error %q, not %q", err, test.want)
			}
			if !errors.Is(err, full) {
				t.Error("the cause cannot be told any more")
			}
		})
	}
}
