package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// TestManyFilesOfOneLibrary: a process that maps thousands of files by the name of a library has some of them probed,
// and the others are told.
func TestManyFilesOfOneLibrary(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble)
	one := mappedFiles(p.process.Modules)
	plan, err := newPlan(t.Context(), p.process, one, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var many []file
	for i := range 1000 {
		for _, f := range one {
			f.id.Inode += uint64(i) << 40
			many = append(many, f)
		}
	}
	crowded, err := newPlan(t.Context(), p.process, many, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(crowded.Sites), maxAlike*len(plan.Sites); got != want {
		t.Errorf("%d sites, not %d", got, want)
	}
	for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventRclPublish} {
		if !slices.ContainsFunc(crowded.Missing, func(m Missing) bool {
			return m.Event == event && m.Partial && strings.Contains(m.Reason, "maps 1000 files")
		}) {
			t.Errorf("%s: %v", event, missingOf(crowded)[event])
		}
	}
	if !slices.Equal(eventsOf(crowded.Sites), eventsOf(plan.Sites)) {
		t.Errorf("%v, not %v", eventsOf(crowded.Sites), eventsOf(plan.Sites))
	}
}
