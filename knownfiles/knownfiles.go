// Package knownfiles keeps, from one recording to the next, which files processes of ROS 2 had mapped. So they can be
// probed before anybody maps them again, wherever they are.
package knownfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/usercache"
)

// Bounds of what is kept. What was seen last stays.
const (
	maxInstallations = 8
	maxFiles         = 2048 // of an installation
	// maxUnprobed of these are files in which nothing was probed: any process can map thousands of them.
	maxUnprobed = 1024
	maxBytes    = 32 << 20
	maxPath     = 4096
)

// name is that of the file in a user's cache.
const name = "known-files.json"

// ErrForeign is returned for a file that this package did not write.
var ErrForeign = errors.New("not a list of known files")

// Installation is what processes have mapped of one installation of ROS 2, and of what is built on it.
type Installation struct {
	// Core is the library that tells one installation from another.
	Core target.KnownFile `json:"core"`
	// Files are those that processes have mapped, the core among them. Those in which something was probed come first,
	// and among them those that were seen last.
	Files []target.KnownFile `json:"files"`
}

// List is what is known of all installations. Those that were seen last come first. It may be used by one goroutine.
type List struct {
	Installations []Installation `json:"installations"`
}

// Load reads what is kept in the folder of a user. The List is empty if nothing is.
func Load(folder string, as *identity.Identity) (*List, error) {
	text, err := usercache.Load(folder, name, maxBytes, as)
	if err != nil {
		return &List{}, fmt.Errorf("reading which files earlier recordings have seen: %w", err)
	}
	list, err := decode(text)
	if err != nil {
		return &List{}, fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return list, nil
}

func decode(text []byte) (*List, error) {
	list := new(List)
	if err := json.Unmarshal(text, list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if len(list.Installations) > maxInstallations {
		return nil, fmt.Errorf("%w: %d installations", ErrForeign, len(list.Installations))
	}
	for _, installation := range list.Installations {
		if len(installation.Files) > maxFiles {
			return nil, fmt.Errorf("%w: %d files of one installation", ErrForeign, len(installation.Files))
		}
		for _, file := range installation.Files {
			if !filepath.IsAbs(file.Path) || len(file.Path) > maxPath {
				return nil, fmt.Errorf("%w: %.40q is no absolute path", ErrForeign, file.Path)
			}
		}
	}
	return list, nil
}

// Store keeps the list in the folder of a user, which is made if need be.
func (l *List) Store(folder string, as *identity.Identity) error {
	if _, err := usercache.Store(folder, name, l, as); err != nil {
		return fmt.Errorf("keeping which files were seen: %w", err)
	}
	return nil
}

// Clone returns a copy, for another goroutine.
func (l *List) Clone() *List {
	clone := &List{slices.Clone(l.Installations)}
	for i := range clone.Installations {
		clone.Installations[i].Files = slices.Clone(clone.Installations[i].Files)
	}
	return clone
}

// Add notes what a process has mapped, which comes before what was seen earlier. Of files with one path the last one is
// kept. It reports whether any of it is news.
func (l *List) Add(core target.KnownFile, files []target.KnownFile) (news bool) {
	files = slices.DeleteFunc(slices.Clone(files), func(f target.KnownFile) bool { return !filepath.IsAbs(f.Path) || len(f.Path) > maxPath })
	if len(files) == 0 {
		return false
	}
	var former []target.KnownFile
	if index := slices.IndexFunc(l.Installations, func(i Installation) bool { return i.Core == core }); index >= 0 {
		former = l.Installations[index].Files
		l.Installations = slices.Delete(l.Installations, index, index+1)
	}
	known := make(map[target.KnownFile]bool, len(former))
	for _, f := range former {
		known[f] = true
	}
	present := map[string]bool{}
	for _, f := range files {
		news = news || !known[f]
		present[f.Path] = true
	}
	kept := slices.DeleteFunc(slices.Clone(former), func(f target.KnownFile) bool { return present[f.Path] })
	l.Installations = slices.Insert(l.Installations, 0, Installation{core, bounded(slices.Concat(files, kept))})
	l.Installations = l.Installations[:min(len(l.Installations), maxInstallations)]
	return news
}

// bounded keeps as many files as may be kept, those first in which something was probed.
func bounded(files []target.KnownFile) []target.KnownFile {
	var probed, unprobed []target.KnownFile
	for _, f := range files {
		if f.Probed {
			probed = append(probed, f)
		} else {
			unprobed = append(unprobed, f)
		}
	}
	all := slices.Concat(probed, unprobed[:min(len(unprobed), maxUnprobed)])
	return all[:min(len(all), maxFiles)]
}

// Forget forgets files of an installation, and the installation if it has no others.
func (l *List) Forget(core target.KnownFile, files []target.KnownFile) {
	forgotten := make(map[target.KnownFile]bool, len(files))
	for _, f := range files {
		forgotten[f] = true
	}
	for i := range l.Installations {
		if installation := &l.Installations[i]; installation.Core == core {
			installation.Files = slices.DeleteFunc(installation.Files, func(f target.KnownFile) bool { return forgotten[f] })
		}
	}
	l.Installations = slices.DeleteFunc(l.Installations, func(i Installation) bool { return len(i.Files) == 0 })
}
