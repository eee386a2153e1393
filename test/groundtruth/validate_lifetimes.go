package groundtruth

import (
	"cmp"
	"slices"
)

// lifetimes checks that no two entities of a kind have an address at the same time: every init at an address is
// followed by the fini of the same kind, and the other way round.
func (v *validator) lifetimes(t *Truth) {
	type place struct {
		kind   EntityKind
		handle uint64
	}
	type change struct {
		bracket Bracket
		begins  bool
	}
	changes := make(map[place][]change)
	for _, init := range t.EntityInits {
		key := place{init.Kind, init.Handle}
		changes[key] = append(changes[key], change{init.Bracket, true})
	}
	for _, fini := range t.EntityFinis {
		key := place{fini.Kind, fini.Handle}
		changes[key] = append(changes[key], change{fini.Bracket, false})
	}
	for key, sequence := range changes {
		slices.SortFunc(sequence, func(a, b change) int { return cmp.Compare(a.bracket.Before, b.bracket.Before) })
		for i, change := range sequence {
			v.check(change.bracket.Happened() && change.begins == (i%2 == 0) &&
				(i == 0 || sequence[i-1].bracket.After <= change.bracket.Before),
				"%s %#x: init and fini do not alternate at %+v", key.kind, key.handle, change.bracket)
		}
	}
}
