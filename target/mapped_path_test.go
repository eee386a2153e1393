package target

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A path that a process names leads the recorder to no file that the process could not read, unless it is surely the
// one that is mapped.
func TestFilesByPathAreOpenedAsTheProcess(t *testing.T) {
	requireRoot(t)
	const library = "/opt/librcl.so"
	others := fmt.Sprintf("Uid:\t%d\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n", nobody)
	for name, test := range map[string]struct {
		overlay  bool // where stat tells another device than the kernel
		mode     os.FileMode
		identity string
		opened   bool
	}{
		"everybody's":                                    {false, 0o644, identityOf(nobody, nobody), true},
		"everybody's on an overlay":                      {true, 0o644, identityOf(nobody, nobody), true},
		"root's but surely mapped":                       {false, 0o600, identityOf(nobody, nobody), true},
		"root's on an overlay":                           {true, 0o600, identityOf(nobody, nobody), false},
		"of a program with others' rights":               {false, 0o644, others, true},
		"of a program with others' rights on an overlay": {true, 0o644, others, false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t)
			fake.ownedBy(nobody)
			fake.writeProcess("status", fmt.Sprintf("Tgid:\t%d\n%s", fakePID, test.identity))
			fake.install(library)
			if err := os.Chmod(fake.inRoot(library), test.mode); err != nil {
				t.Fatal(err)
			}
			if test.overlay {
				over := fake.inRoot("/opt")
				if err := unix.Mount("overlay", over, "overlay", 0, "lowerdir="+over+":"+t.TempDir()); err != nil {
					t.Skip("no overlays: ", err)
				}
				t.Cleanup(func() { _ = unix.Unmount(over, 0) })
			}
			var stat unix.Stat_t
			if err := unix.Stat(fake.inRoot(library), &stat); err != nil {
				t.Fatal(err)
			}
			mapping := Mapping{Device: stat.Dev, Inode: stat.Ino}
			if test.overlay {
				mapping.Device++
			}
			learned := fake.inspect().learnByPath(t.Context(), Module{Path: library, Mappings: []Mapping{mapping}})
			if learned.opened != nil {
				learned.opened.Release()
			}
			if opened := learned.err == nil; opened != test.opened || !opened && !errors.Is(learned.err, os.ErrPermission) {
				t.Errorf("%v", learned.err)
			}
		})
	}
}
