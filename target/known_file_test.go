package target

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// describeFile is what is known of a file that is looked at now.
func describeFile(t *testing.T, path string) KnownFile {
	t.Helper()
	learned := learnPath(t, NewFinder(), path)
	if learned.err != nil {
		t.Fatal(learned.err)
	}
	version := learned.facts.version
	return KnownFile{
		Path: path, Device: version.device, Inode: version.inode, Size: version.Size, Modified: version.Modified, BuildID: learned.facts.buildID,
	}
}

// A file that somebody has seen is expected as long as it is what it was.
func TestKnownFilesAreExpected(t *testing.T) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	known := describeFile(t, path)
	p := openSelf(t)
	for name, test := range map[string]struct {
		change func(*KnownFile)
		want   bool
	}{
		"the same":       {func(*KnownFile) {}, true},
		"another device": {func(k *KnownFile) { k.Device++ }, false},
		"another inode":  {func(k *KnownFile) { k.Inode++ }, false},
		"another size":   {func(k *KnownFile) { k.Size++ }, false},
		"another time":   {func(k *KnownFile) { k.Modified++ }, false},
		"another build":  {func(k *KnownFile) { k.BuildID += "00" }, false},
		"not there":      {func(k *KnownFile) { k.Path += "x" }, false},
		"a folder":       {func(k *KnownFile) { k.Path = filepath.Dir(k.Path) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := known
			test.change(&k)
			p.Expect([]KnownFile{k})
			expected, err := p.Expected(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(expected, func(l ExpectedLibrary) bool { return l.Kind == KindKnown && l.Path == path && l.Inode == known.Inode })
			if changed := slices.Equal(p.Changed(), []KnownFile{k}); found != test.want || changed == test.want {
				t.Errorf("expected: %v, changed: %v", found, changed)
			}
		})
	}
}

// What a process has mapped can be known again, unless its path does not lead to it any more.
func TestMappedFilesAreKnown(t *testing.T) {
	p := openSelf(t)
	index := slices.IndexFunc(p.Modules, func(m Module) bool { return m.Path == p.Executable })
	if index < 0 {
		t.Fatalf("%s is not among %v", p.Executable, p.Modules)
	}
	module := p.Modules[index]
	known, ok := module.Known()
	var stat unix.Stat_t
	if err := unix.Stat(p.Executable, &stat); err != nil {
		t.Fatal(err)
	}
	if !ok || known.Inode != stat.Ino || known.Device != stat.Dev || known.Size != stat.Size || known.Path != p.Executable {
		t.Errorf("%v, %+v", ok, known)
	}
	module.Deleted = true
	if _, ok := module.Known(); ok {
		t.Error("a file that was deleted is known")
	}
}

func openSelf(t *testing.T) *Process {
	t.Helper()
	p, err := NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
