package knownfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
)

func file(path string, inode uint64) target.KnownFile {
	return target.KnownFile{Path: path, Device: 1, Inode: inode, Size: 3, Modified: 4, BuildID: "ab"}
}

var core = file("/opt/ros/humble/lib/librcl.so", 1)

func TestWhatIsKeptComesBack(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not there yet")
	if list, err := Load(folder, nil); !errors.Is(err, fs.ErrNotExist) || len(list.Installations) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	list := new(List)
	if !list.Add(core, []target.KnownFile{core, file("/a", 2)}) {
		t.Error("it is no news")
	}
	if err := list.Store(folder, nil); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(folder, nil)
	if err != nil || !reflect.DeepEqual(loaded, list) {
		t.Errorf("%v, %v", loaded, err)
	}
}

func TestAdd(t *testing.T) {
	other := file("/home/x/librcl.so", 9)
	for name, test := range map[string]struct {
		core  target.KnownFile
		files []target.KnownFile
		news  bool
		want  map[string][]target.KnownFile // by path of the core
	}{
		"nothing new":             {core, []target.KnownFile{core}, false, map[string][]target.KnownFile{core.Path: {core, file("/a", 2)}}},
		"seen again":              {core, []target.KnownFile{file("/a", 2)}, false, map[string][]target.KnownFile{core.Path: {file("/a", 2), core}}},
		"another file":            {core, []target.KnownFile{file("/b", 3)}, true, map[string][]target.KnownFile{core.Path: {file("/b", 3), core, file("/a", 2)}}},
		"a file that was changed": {core, []target.KnownFile{file("/a", 4)}, true, map[string][]target.KnownFile{core.Path: {file("/a", 4), core}}},
		"no path":                 {core, []target.KnownFile{file("a", 4)}, false, map[string][]target.KnownFile{core.Path: {core, file("/a", 2)}}},
		"another installation": {other, []target.KnownFile{other}, true, map[string][]target.KnownFile{
			core.Path: {core, file("/a", 2)}, other.Path: {other},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			list := &List{[]Installation{{core, []target.KnownFile{core, file("/a", 2)}}}}
			before := list.Clone()
			kept := before.Clone()
			if news := list.Add(test.core, test.files); news != test.news {
				t.Errorf("news: %v", news)
			}
			got := map[string][]target.KnownFile{}
			for _, installation := range list.Installations {
				got[installation.Core.Path] = installation.Files
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			if !reflect.DeepEqual(before, kept) {
				t.Error("the clone has changed")
			}
		})
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	list := new(List)
	for i := range maxInstallations + 1 {
		list.Add(file("/core", uint64(i)), []target.KnownFile{core})
	}
	var files []target.KnownFile
	for i := range maxFiles {
		files = append(files, file(fmt.Sprintf("/%d", i), 1))
	}
	for i := range files {
		files[i].Probed = true
	}
	list.Add(file("/core", maxInstallations), files)
	if len(list.Installations) != maxInstallations || len(list.Installations[0].Files) != maxFiles || list.Installations[0].Files[0].Path != "/0" {
		t.Errorf("%d installations, %d files", len(list.Installations), len(list.Installations[0].Files))
	}
	folder := t.TempDir()
	if err := list.Store(folder, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(folder, nil); err != nil {
		t.Error(err)
	}
}

// Whatever processes map in which nothing is probed, what is of use stays.
func TestProbedFilesStay(t *testing.T) {
	list := new(List)
	library := file("/opt/ros/humble/lib/librclcpp.so", 2)
	library.Probed = true
	list.Add(core, []target.KnownFile{file("/usr/bin/node", 3), library})
	for process := range 3 {
		var others []target.KnownFile
		for i := range maxFiles {
			others = append(others, file(fmt.Sprintf("/usr/%d/%d", process, i), 4))
		}
		list.Add(core, others)
	}
	files := list.Installations[0].Files
	if len(files) != 1+maxUnprobed || files[0] != library || files[1].Path != "/usr/2/0" {
		t.Errorf("%d files, %v first", len(files), files[:2])
	}
}

// An installation that is in use stays, however many others there were.
func TestWhatWasSeenLastStays(t *testing.T) {
	list := new(List)
	for i := range 3 * maxInstallations {
		list.Add(core, []target.KnownFile{core})
		list.Add(file("/core", uint64(i)), []target.KnownFile{core})
	}
	if len(list.Installations) != maxInstallations || list.Installations[1].Core != core {
		t.Errorf("%v", list.Installations)
	}
}

func TestForget(t *testing.T) {
	list := &List{[]Installation{{core, []target.KnownFile{core, file("/a", 2)}}, {file("/b", 3), []target.KnownFile{core}}}}
	list.Forget(core, []target.KnownFile{file("/a", 2)})
	if want := []Installation{{core, []target.KnownFile{core}}, {file("/b", 3), []target.KnownFile{core}}}; !reflect.DeepEqual(list.Installations, want) {
		t.Errorf("%v", list.Installations)
	}
	list.Forget(core, []target.KnownFile{core})
	if len(list.Installations) != 1 || list.Installations[0].Core.Path != "/b" {
		t.Errorf("%v", list.Installations)
	}
}

func TestForeignLists(t *testing.T) {
	many := strings.Repeat(`{"files":[]},`, maxInstallations)
	for name, text := range map[string]string{
		"no JSON":             "x",
		"many installations":  `{"installations":[` + many + `{"files":[]}]}`,
		"many files":          `{"installations":[{"files":[` + strings.Repeat(`{"path":"/a"},`, maxFiles) + `{"path":"/a"}]}]}`,
		"a path without root": `{"installations":[{"files":[{"path":"a"}]}]}`,
		"a long path":         `{"installations":[{"files":[{"path":"/` + strings.Repeat("a", maxPath) + `"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "known-files.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if list, err := Load(folder, nil); !errors.Is(err, ErrForeign) || len(list.Installations) != 0 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"installations":[{"core":{"path":"/c"},"files":[{"path":"/a","inode":2}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := decode(text)
		if err == nil && len(list.Installations) > maxInstallations {
			t.Error("not bounded")
		}
	})
}
