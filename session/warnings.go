package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/alike"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	// alikeWarnings of one kind are kept, the others are counted.
	alikeWarnings = 128
	// warningKinds are distinguished at most, and ownKinds of what the recorder itself has to say: what processes are
	// called and map makes kinds as well.
	warningKinds = 200
	ownKinds     = 50
	// keptWarnings are kept of all kinds together, and one of each kind at least.
	keptWarnings = 6400
)

// warnings are what the user should know. However many there are, a bounded number is kept: processes that come and go
// by the thousand may each give reason for one. One of a kind is told at once, the others are gathered.
type warnings struct {
	kept  []string
	kinds map[string]*warningKind // by what they have in common
	order []*warningKind          // as they came
	// others are those of kinds for which there was no room.
	others, othersTold uint64
	// own are how many kinds are of what the recorder itself has to say.
	own int
}

type warningKind struct {
	first string
	last  int // the place of the last one that was kept
	kept  map[string]bool
	more  uint64 // those that are only counted
	told  bool   // one was
	// gathered are those that came since some were told.
	gathered uint64
}

// add keeps or counts a warning. It returns whether the user has to be told at once: of one of its kind only.
func (w *warnings) add(text string) bool { return w.tell(w.gather(text)) }

// addOwn is add for what the recorder itself has to say.
func (w *warnings) addOwn(text string) bool { return w.tell(w.gatherOwn(text)) }

func (w *warnings) tell(kind *warningKind) bool {
	if kind == nil || kind.told {
		return false
	}
	kind.told = true
	kind.gathered--
	return true
}

// gather keeps or counts a warning that is told with others. It returns its kind, nil if it has been kept before or
// there is no room for its kind.
func (w *warnings) gather(text string) *warningKind {
	return w.gatherIf(text, len(w.kinds)-w.own < warningKinds)
}

func (w *warnings) gatherOwn(text string) *warningKind {
	before := len(w.kinds)
	kind := w.gatherIf(text, w.own < ownKinds)
	w.own += len(w.kinds) - before
	return kind
}

// gatherIf is gather if there is room for another kind.
func (w *warnings) gatherIf(text string, room bool) *warningKind {
	name := alike.Kind(text)
	kind := w.kinds[name]
	switch {
	case kind == nil && !room:
		w.others++
		return nil
	case kind == nil:
		if w.kinds == nil {
			w.kinds = map[string]*warningKind{}
		}
		kind = &warningKind{first: text, kept: map[string]bool{}}
		w.kinds[name] = kind
		w.order = append(w.order, kind)
	case kind.kept[text]:
		return nil
	case len(kind.kept) == alikeWarnings || len(w.kept) >= keptWarnings:
		kind.more++
		kind.gathered++
		return kind
	}
	kind.kept[text] = true
	kind.last = len(w.kept)
	kind.gathered++
	w.kept = append(w.kept, text)
	return kind
}

// list returns the warnings in the order in which they came. The last that was kept of a kind tells how many more there
// were, which may have been the same.
func (w *warnings) list() []string {
	all := append([]string{}, w.kept...)
	for _, kind := range w.order {
		all[kind.last] = alike.And(all[kind.last], kind.more)
	}
	if w.others > 0 {
		all = append(all, othersText(w.others))
	}
	return all
}

func othersText(count uint64) string {
	return fmt.Sprintf("%d warnings of other kinds are not listed", count)
}

// waiting is how many warnings were gathered and not told.
func (w *warnings) waiting() uint64 {
	count := w.others - w.othersTold
	for _, kind := range w.order {
		count += kind.gathered
	}
	return count
}

// takeGathered returns what to tell of the warnings that were gathered: one line of each kind, none for the text that
// is told otherwise. where says where each of them is found, if they are.
func (w *warnings) takeGathered(where, otherwise string) (lines []string) {
	for _, kind := range w.order {
		switch {
		case kind.gathered == 0 || kind.gathered == 1 && kind.first == otherwise:
		case kind.told:
			lines = append(lines, fmt.Sprintf("%d more like this%s: %s", kind.gathered, where, kind.first))
		default:
			lines = append(lines, alike.And(kind.first, kind.gathered-1))
		}
		kind.told, kind.gathered = kind.told || kind.gathered > 0, 0
	}
	if more := w.others - w.othersTold; more > 0 {
		lines = append(lines, othersText(more))
	}
	w.othersTold = w.others
	return lines
}

// isOwn reports whether a warning is of what may falsify a recording or end a part of it.
func isOwn(err error) bool {
	return slices.ContainsFunc([]error{loader.ErrConflictingSite, loader.ErrFileChanged, loader.ErrHeldUp, writer.ErrDiskFull},
		func(kind error) bool { return errors.Is(err, kind) })
}
