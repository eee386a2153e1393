package session

import (
	"fmt"
	"regexp"
)

const (
	// alikeWarnings of one kind are told in full, the others are counted.
	alikeWarnings = 32
	// warningKinds are distinguished at most.
	warningKinds = 200
)

// number is what tells warnings of one kind apart: PIDs, addresses, sizes.
var number = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// warnings are what the user should know. However many there are, a bounded number is kept: processes that come and go
// by the thousand may each give reason for one.
type warnings struct {
	kept  []string
	kinds map[string]*warningKind
	// others are those of kinds for which there was no room.
	others uint64
}

type warningKind struct {
	kept map[string]bool
	more uint64
}

// add keeps or counts a warning. It returns whether the user has to be told: not of what was told before, nor of what
// is only counted.
func (w *warnings) add(text string) bool {
	name := number.ReplaceAllLiteralString(text, "#")
	kind := w.kinds[name]
	switch {
	case kind == nil && len(w.kinds) == warningKinds:
		w.others++
		return false
	case kind == nil:
		if w.kinds == nil {
			w.kinds = map[string]*warningKind{}
		}
		kind = &warningKind{kept: map[string]bool{}}
		w.kinds[name] = kind
	case kind.kept[text]:
		return false
	case len(kind.kept) == alikeWarnings:
		kind.more++
		return false
	}
	kind.kept[text] = true
	w.kept = append(w.kept, text)
	return true
}

// list returns the warnings in the order in which they came. The last that was kept of a kind tells how many more there
// were, which may have been the same.
func (w *warnings) list() []string {
	last := map[string]int{}
	for i, text := range w.kept {
		last[number.ReplaceAllLiteralString(text, "#")] = i
	}
	all := append([]string{}, w.kept...)
	for name, i := range last {
		if more := w.kinds[name].more; more > 0 {
			all[i] += fmt.Sprintf(" (and %d more of this kind)", more)
		}
	}
	if w.others > 0 {
		all = append(all, fmt.Sprintf("%d warnings of other kinds are not listed", w.others))
	}
	return all
}
