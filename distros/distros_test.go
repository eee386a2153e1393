package distros_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
)

// TestReleasesAreInOrder: names of distributions follow the alphabet.
func TestReleasesAreInOrder(t *testing.T) {
	if released := distros.Released(); !slices.IsSorted(released) || len(released) == 0 {
		t.Errorf("released are %v", released)
	}
}

func TestSinceAndUntilPartTheReleases(t *testing.T) {
	released := distros.Released()
	for i, distro := range released {
		since, until := distros.Since(distro), distros.Until(distro)
		if !slices.Equal(since, released[i:]) || !slices.Equal(until, released[:i+1]) {
			t.Errorf("since %s are %v, until it %v", distro, since, until)
		}
	}
}

func TestRollingIsLikeTheNewest(t *testing.T) {
	all := distros.All()
	for i, distro := range all {
		want := all[min(i, len(all)-2)]
		if got := distro.Like(); got != want {
			t.Errorf("%s is taken to be like %s, want %s", distro, got, want)
		}
	}
	if distros.Unknown.Like() != distros.Unknown || distros.Unknown.String() != "unknown" {
		t.Errorf("an unknown distribution is like %s", distros.Unknown.Like())
	}
}
