package entities

import (
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/quota"
)

// Processes with the same libraries have one layout. What was learned for somebody who could not pay for reading all of
// them is not kept.
func TestLayoutsAreKept(t *testing.T) {
	for _, distro := range []string{"humble", "jazzy"} {
		t.Run(distro, func(t *testing.T) {
			_, process := startStandIn(t, distro, "rmw_cyclonedds_cpp")
			_, other := startStandIn(t, distro, "rmw_cyclonedds_cpp")
			want, err := LayoutOf(t.Context(), process)
			if err != nil {
				t.Fatal(err)
			}
			kept, refused := NewLayouts(), 0
			account := process.Account()
			held := int64(0)
			for size := int64(1) << 40; size > 0; size /= 2 {
				for account.Take(quota.Memory, size) == nil {
					held += size
				}
			}
			for room := int64(1 << 10); room <= 1<<20; room *= 2 {
				account.Give(quota.Memory, room)
				if _, whole, err := learnLayoutOf(t.Context(), process); err == nil && !whole {
					refused++
					if _, err := kept.Of(t.Context(), process); err != nil || len(kept.kept) > 0 {
						t.Errorf("with room for %d bytes: %d are kept, %v", room, len(kept.kept), err)
					}
				}
				if err := account.Take(quota.Memory, room); err != nil {
					t.Fatal(err)
				}
			}
			account.Give(quota.Memory, held)
			if refused == 0 {
				t.Error("no library was refused")
			}
			first, err := kept.Of(t.Context(), process)
			if err != nil || !reflect.DeepEqual(first, want) {
				t.Fatalf("%+v, %v, want %+v", first, err, want)
			}
			if again, err := kept.Of(t.Context(), other); err != nil || again != first {
				t.Errorf("another process: %p, %v, want %p", again, err, first)
			}
			if own, err := (*Layouts)(nil).Of(t.Context(), other); err != nil || own == first || !reflect.DeepEqual(own, want) {
				t.Errorf("where nothing is kept: %p, %v", own, err)
			}
		})
	}
}
