package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

var (
	// ErrGroup is wrapped by errors of texts that name no group, and of groups that cannot be compared.
	ErrGroup = errors.New("a group is NAME=KEY=VALUE, with more KEY=VALUE behind commas")
	// ErrNoRecordings is wrapped by the error for a group that no recording is of.
	ErrNoRecordings = errors.New("no recording is of the group")
)

// Group chooses recordings by what all of them have: attributes, or the date.
type Group struct {
	Name       string
	Conditions []trace.Attribute
}

// ParseGroup reads NAME=KEY=VALUE,KEY=VALUE. The error wraps ErrGroup.
func ParseGroup(text string) (Group, error) {
	name, conditions, found := strings.Cut(text, "=")
	if !found || name == "" {
		return Group{}, fmt.Errorf("%w, not %q", ErrGroup, text)
	}
	g := Group{Name: name}
	for condition := range strings.SplitSeq(conditions, ",") {
		a, err := trace.ParseAttribute(condition)
		if err != nil {
			return Group{}, fmt.Errorf("%w: %q: %w", ErrGroup, text, err)
		}
		g.Conditions = append(g.Conditions, a)
	}
	return g, nil
}

// String is what ParseGroup reads, without the name.
func (g *Group) String() string {
	texts := make([]string, len(g.Conditions))
	for i, c := range g.Conditions {
		texts[i] = c.Key + "=" + c.Value
	}
	return strings.Join(texts, ",")
}

func (g *Group) has(r *recording) bool {
	for _, c := range g.Conditions {
		if value, known := r.value(c.Key); !known || value != c.Value {
			return false
		}
	}
	return true
}

// value is that of an attribute, or the date.
func (r *recording) value(key string) (value string, known bool) {
	if key == lake.KeyDate {
		return r.date, r.date != ""
	}
	value, known = r.attributes[key]
	return value, known
}

// choose returns the recordings of both groups.
func choose(all []*recording, groups [2]Group) (of [2][]*recording, err error) {
	for _, r := range all {
		inBoth := true
		for i := range groups {
			if groups[i].has(r) {
				of[i] = append(of[i], r)
			} else {
				inBoth = false
			}
		}
		if inBoth {
			return of, fmt.Errorf("%w: recording %s is of both groups (%s and %s): add a KEY=VALUE that tells them apart", ErrGroup, r.id, &groups[0], &groups[1])
		}
	}
	for i := range groups {
		if len(of[i]) == 0 {
			return of, fmt.Errorf("%w %s (%s): %s", ErrNoRecordings, groups[i].Name, &groups[i], valuesOf(all, groups[i].Conditions))
		}
	}
	return of, nil
}

// shownValues is how many values of a key an error tells.
const shownValues = 10

// valuesOf tells which values there are of the keys.
func valuesOf(all []*recording, conditions []trace.Attribute) string {
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		var values []string
		for _, r := range all {
			if value, known := r.value(c.Key); known {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
		switch {
		case len(values) == 0:
			texts[i] = fmt.Sprintf("none of the %d recordings has %s", len(all), c.Key)
		case len(values) > shownValues:
			texts[i] = fmt.Sprintf("there are %d values of %s: %s and more", len(values), c.Key, strings.Join(values[:shownValues], ", "))
		default:
			texts[i] = fmt.Sprintf("values of %s are %s", c.Key, strings.Join(values, ", "))
		}
	}
	return strings.Join(texts, "; ")
}
