package loader

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// What is attached is told, each site once for whom it is, and what is not any more is not.
func TestWhatIsAttached(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		w.options.FilterProcesses = true
		r := newRecording(t, w)
		sites := target.callbackSites(library)
		expect := func(of map[int32]int) {
			t.Helper()
			want := map[string]int{}
			for process, count := range of {
				for _, site := range sites[:count] {
					want[fmt.Sprintf("%s at %d of %d", site.Event, site.Offset, process)]++
				}
			}
			got := map[string]int{}
			for _, site := range r.loader.Attached() {
				got[fmt.Sprintf("%s at %d of %d", site.Event, site.Offset, site.Process)]++
			}
			if !maps.Equal(got, want) {
				t.Errorf("attached are %v, want %v", got, want)
			}
		}
		expect(nil)
		own := r.attach(target.pid, sites[:1]...)
		one := r.attach(0, sites...)
		two := r.attach(0, slices.Clone(sites)...)
		expect(map[int32]int{target.pid: 1, 0: len(sites)})
		closeAttachment(t, own)
		closeAttachment(t, one)
		expect(map[int32]int{0: len(sites)})
		closeAttachment(t, two)
		expect(nil)
	})
}
