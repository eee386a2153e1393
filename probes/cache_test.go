package probes

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/elffile"
)

// Sources are searched for once in each file, and once more for another distribution, name or shadow stack, or when the
// file was written. A search that was cut short is not kept.
func TestSourcesAreSearchedForOnce(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble)
	cache := NewCache()
	first, err := NewPlan(t.Context(), p.process, Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewPlan(t.Context(), p.process, Options{Cache: cache})
	if err != nil || !slices.Equal(again.Sites, first.Sites) || !slices.Equal(again.Missing, first.Missing) {
		t.Errorf("sites %+v, %v; want %+v", again.Sites, err, first.Sites)
	}
	files := mappedFiles(p.process.Modules)
	f := files[slices.IndexFunc(files, func(f file) bool { return f.soname == "librcl.so" })]
	ended, end := context.WithCancel(t.Context())
	end()
	for _, test := range []struct {
		name string
		plan *Plan
		file func(file) file
		want int // searches of three
	}{
		{"known", &Plan{Distro: distros.Humble}, nil, 0},
		{"another distribution", &Plan{Distro: distros.Jazzy}, nil, 1},
		{"a shadow stack", &Plan{Distro: distros.Humble, shadowStack: true}, nil, 1},
		{"another name", &Plan{Distro: distros.Humble}, func(f file) file { f.soname = "librcl.so.2"; return f }, 1},
		{"cannot be read", &Plan{Distro: distros.Iron}, nil, 3},
		{"cannot be opened", &Plan{Distro: distros.Humble}, func(f file) file { f.openErr = os.ErrPermission; return f }, 3},
	} {
		other := f
		if test.file != nil {
			other = test.file(f)
		}
		searched, found := 0, []foundSource{{result: result{err: elffile.ErrSymbolNotFound}}}
		if test.plan.Distro == distros.Iron {
			found[0].err = fmt.Errorf("reading: %w", unix.EIO)
		}
		for range 3 {
			cache.sourcesIn(t.Context(), test.plan, other, func() []foundSource { searched++; return found })
		}
		if searched != test.want {
			t.Errorf("%s: searched %d times, want %d", test.name, searched, test.want)
		}
	}
	searched := 0
	for _, ctx := range []context.Context{ended, ended, t.Context(), t.Context()} {
		NewCache().sourcesIn(ctx, first, f, func() []foundSource { searched++; return nil })
		cache.sourcesIn(ctx, &Plan{Distro: distros.Rolling}, f, func() []foundSource { searched++; return nil })
	}
	if searched != 4+3 {
		t.Errorf("searched %d times", searched)
	}
	if err := os.Chtimes(f.path, time.Now(), time.Now()); err != nil { // as writing does
		t.Fatal(err)
	}
	searched = 0
	for range 2 {
		cache.sourcesIn(t.Context(), &Plan{Distro: distros.Lyrical}, f, func() []foundSource { searched++; return nil })
	}
	if searched != 2 {
		t.Errorf("what was written is taken for read")
	}
}
