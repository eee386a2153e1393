package entities

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/quota"
)

// Processes with the same libraries have one layout. What was learned for somebody who could not pay for reading all of
// them is not kept.
func TestLayoutsAreKept(t *testing.T) {
	all := NewLayouts()
	seen := map[*layouts.Layout]bool{}
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
				if _, whole, err := learnLayoutOf(t.Context(), process, want.Machine); err == nil && !whole {
					refused++
					_, _ = kept.Of(t.Context(), process) // perhaps there is not even room for the machine
					if len(kept.kept) > 0 {
						t.Errorf("with room for %d bytes: %d are kept", room, len(kept.kept))
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
			of, err := all.Of(t.Context(), process)
			if err != nil || seen[of] || of.Distro != distro {
				t.Errorf("beside those of other distributions: %+v, %v", of, err)
			}
			seen[of] = true
			if own, err := (*Layouts)(nil).Of(t.Context(), other); err != nil || own == first || !reflect.DeepEqual(own, want) {
				t.Errorf("where nothing is kept: %p, %v", own, err)
			}
		})
	}
}

// Other libraries have layouts of their own. What a library tells that is written while somebody has it open is not
// kept: it may be half of it.
func TestLayoutsOfOtherLibraries(t *testing.T) {
	stands := filepath.Join("..", "build", "testdata")
	if _, err := os.Stat(stands); err != nil {
		t.Skipf("the stand-ins are not built (make -C testdata): %v", err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(stands, "jazzy-stripped"))); err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(stands)
	if err != nil {
		t.Fatal(err)
	}
	build, err := filepath.Rel(absolute, folder)
	if err != nil {
		t.Fatal(err)
	}
	_, process := startStandIn(t, build, "rmw_cyclonedds_cpp")
	_, original := startStandIn(t, "jazzy-stripped", "rmw_cyclonedds_cpp")
	both := NewLayouts()
	copied, err := both.Of(t.Context(), process)
	if other, otherError := both.Of(t.Context(), original); err != nil || otherError != nil || copied == other {
		t.Errorf("of other files: %p and %p, %v, %v", copied, other, err, otherError)
	}
	kept := NewLayouts()
	written := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(folder, "librclcpp.so"), written, written); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if layout, err := kept.Of(t.Context(), process); err != nil || layout == nil || len(kept.kept) > 0 {
			t.Errorf("%v, %v, %d are kept", layout, err, len(kept.kept))
		}
	}
}
