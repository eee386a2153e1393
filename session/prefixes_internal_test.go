package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestWhatIsSearchedBefore: what the recorder's environment names is searched for processes that begin by themselves. A
// command has that environment itself.
func TestWhatIsSearchedBefore(t *testing.T) {
	installed := t.TempDir()
	if err := os.MkdirAll(filepath.Join(installed, "humble", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	distribution := filepath.Join(installed, "humble")
	for name, test := range map[string]struct {
		command               []string
		prefixes, libraries   string
		wantPrefixes          []string
		wantLibraries, wanted string
	}{
		"prefixes":              {nil, "/ws/a:relative::/ws/b", "", []string{"/ws/a", "/ws/b"}, "", "the environment"},
		"folders of libraries":  {nil, "", "/ws/lib:relative", nil, "/ws/lib:relative", "the environment"},
		"nothing":               {nil, "relative", "", nil, "", ""},
		"a command has its own": {[]string{"true"}, "/ws/a", "/ws/lib", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AMENT_PREFIX_PATH", test.prefixes)
			t.Setenv("LD_LIBRARY_PATH", test.libraries)
			configuration := &compiled{Configuration: Configuration{Command: test.command}}
			p := newPrefixes(configuration, Options{Installed: installed}, nil, newPlanner(configuration, Options{}, trace.Links{}, nil), new(knownFiles), nil)
			all := p.toSearch()
			if last := all[len(all)-1]; last.name != distribution || !slices.Equal(last.prefixes, []string{distribution}) {
				t.Errorf("the distribution: %+v", last)
			}
			if test.wanted == "" {
				if len(all) != 1 {
					t.Errorf("%+v", all)
				}
				return
			}
			if own := all[0]; len(all) != 2 || own.name != test.wanted || !slices.Equal(own.prefixes, test.wantPrefixes) || own.libraries != test.wantLibraries || own.named {
				t.Errorf("%+v", all)
			}
		})
	}
}
