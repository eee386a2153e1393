package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file is trusted if nobody but root and a trusted user could have written it, or put it where it is.
func TestCheckTrusted(t *testing.T) {
	requireRoot(t)
	const library, user, stranger = "/opt/ros/lib/librcl.so", 4242, 4343
	chmod := func(mode os.FileMode, path string) func(f *fakeProcess) error {
		return func(f *fakeProcess) error { return os.Chmod(f.inRoot(path), mode) }
	}
	chown := func(uid, gid int, path string) func(f *fakeProcess) error {
		return func(f *fakeProcess) error { return os.Chown(f.inRoot(path), uid, gid) }
	}
	for name, test := range map[string]struct {
		change  []func(f *fakeProcess) error
		trusted bool
	}{
		"all is root's":                    {nil, true},
		"a file of the user":               {[]func(*fakeProcess) error{chown(user, user, library)}, true},
		"a folder of the user":             {[]func(*fakeProcess) error{chown(user, user, "/opt/ros")}, true},
		"the group root may write":         {[]func(*fakeProcess) error{chmod(0o775, "/opt/ros"), chmod(0o664, library)}, true},
		"a sticky folder":                  {[]func(*fakeProcess) error{chmod(0o777|os.ModeSticky, "/opt")}, true},
		"a file of a stranger":             {[]func(*fakeProcess) error{chown(stranger, 0, library)}, false},
		"a file that everybody writes":     {[]func(*fakeProcess) error{chmod(0o646, library)}, false},
		"a file that a group writes":       {[]func(*fakeProcess) error{chown(0, stranger, library), chmod(0o664, library)}, false},
		"its folder is a stranger's":       {[]func(*fakeProcess) error{chown(stranger, 0, "/opt/ros/lib")}, false},
		"a folder above it is":             {[]func(*fakeProcess) error{chown(stranger, 0, "/opt")}, false},
		"the root directory is":            {[]func(*fakeProcess) error{chown(stranger, 0, "/")}, false},
		"a folder that everybody writes":   {[]func(*fakeProcess) error{chmod(0o777, "/opt/ros")}, false},
		"a folder that a group writes":     {[]func(*fakeProcess) error{chown(0, stranger, "/opt/ros"), chmod(0o775, "/opt/ros")}, false},
		"a stranger's in a sticky folder":  {[]func(*fakeProcess) error{chmod(0o777|os.ModeSticky, "/opt"), chown(stranger, 0, "/opt/ros")}, false},
		"its path leads to another file":   {[]func(*fakeProcess) error{func(f *fakeProcess) error { return f.replace(library) }}, false},
		"its path leads nowhere":           {[]func(*fakeProcess) error{func(f *fakeProcess) error { return os.Remove(f.inRoot(library)) }}, false},
		"its path leads through a link":    {[]func(*fakeProcess) error{func(f *fakeProcess) error { return f.moveBehindLink("/opt") }}, false},
		"everything, and the file is good": {[]func(*fakeProcess) error{chmod(0o777, "/"), chmod(0o777, "/opt")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeProcess(t)
			f.install(library)
			f.mapLibrary(library)
			process := f.open()
			module, found := process.FindModule("librcl.so")
			opened, err := module.Opened()
			if !found || err != nil {
				t.Fatal(found, err)
			}
			for _, change := range test.change {
				if err := change(f); err != nil {
					t.Fatal(err)
				}
			}
			err = process.CheckTrusted(t.Context(), opened, []uint32{user})
			if test.trusted != (err == nil) || err != nil && !errors.Is(err, ErrUntrusted) {
				t.Error(err)
			}
		})
	}
}

// replace puts a copy of a file in its place.
func (f *fakeProcess) replace(path string) error {
	content, err := os.ReadFile(f.inRoot(path))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(f.inRoot(path)+".new", content, 0o644), os.Rename(f.inRoot(path)+".new", f.inRoot(path)))
}

func (f *fakeProcess) moveBehindLink(folder string) error {
	moved := filepath.Join(filepath.Dir(folder), "moved")
	return errors.Join(os.Rename(f.inRoot(folder), f.inRoot(moved)), os.Symlink(moved, f.inRoot(folder)))
}

// Files that a process is expected to map are judged as those that it maps.
func TestCheckTrustedOfExpectedLibraries(t *testing.T) {
	requireRoot(t)
	f := newFakeProcess(t, "LD_LIBRARY_PATH=/opt/lib")
	for _, path := range []string{"/opt/lib/librcl.so", "/opt/lib/librmw_fastrtps_cpp.so"} {
		f.install(path)
	}
	f.mapLibrary("/opt/lib/librcl.so")
	process := f.open()
	expected, err := process.Expected(t.Context())
	if err != nil || len(expected) == 0 {
		t.Fatal(expected, err)
	}
	if err := process.CheckTrusted(t.Context(), expected[0].Opened, nil); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(f.inRoot(expected[0].Path), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := process.CheckTrusted(t.Context(), expected[0].Opened, nil); !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
	unrelated, err := NewFinder().OpenFile(f.inRoot("/opt/lib/librcl.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer unrelated.Release()
	if err := process.CheckTrusted(t.Context(), unrelated, nil); !errors.Is(err, ErrUntrusted) {
		t.Errorf("a file that is none of the process's: %v", err)
	}
}
