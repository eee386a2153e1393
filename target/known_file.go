package target

import "os"

// KnownFile is a file that somebody has seen processes map, as it was then.
type KnownFile struct {
	// Path is the file's path, symbolic links followed.
	Path string `json:"path"`
	// Device and Inode are those that stat shows.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Size is in bytes, Modified in Unix nanoseconds.
	Size     int64 `json:"size"`
	Modified int64 `json:"modified_ns"`
	// BuildID is in hexadecimal; "" where the file has none.
	BuildID string `json:"build_id,omitempty"`
	// Probed says that anything of ROS 2 was probed in it.
	Probed bool `json:"probed,omitempty"`
}

// Known describes the file of a module. False if it was not opened, or its path leads to it no longer.
func (m Module) Known() (known KnownFile, ok bool) {
	if m.opened == nil || m.Deleted {
		return KnownFile{}, false
	}
	version := m.opened.version
	return KnownFile{
		Path: m.Path, Device: version.device, Inode: version.inode, Size: version.Size, Modified: version.Modified, BuildID: m.BuildID,
	}, true
}

// is reports whether an open file is still what it was, as far as its file system tells.
func (k KnownFile) is(file *os.File) bool {
	version, _, err := versionOf(int(file.Fd()))
	return err == nil && version.device == k.Device && version.inode == k.Inode && version.Size == k.Size && version.Modified == k.Modified
}

// Expect names files that Expected returns as well, those of them that are what they were.
func (p *Process) Expect(files []KnownFile) { p.known = files }

// Changed are the files named to Expect that were seen not to be what they were when Expected was called last.
func (p *Process) Changed() []KnownFile { return p.changed }

// addKnown adds a file if it is what it was.
func (c *expectedCollector) addKnown(known KnownFile) {
	candidate, err := ask(c.delegate, func(root rootDirectory) (namedFile, error) { return root.openFirst([]string{known.Path}) })
	if err != nil {
		c.err = err
		return
	}
	if candidate.file == nil {
		c.changed(known)
		return
	}
	if !known.is(candidate.file) {
		candidate.file.Close()
		c.changed(known)
		return
	}
	c.add(KindKnown, candidate, func(buildID string) bool {
		same := buildID == known.BuildID
		if !same {
			c.changed(known)
		}
		return same
	})
}

func (c *expectedCollector) changed(known KnownFile) {
	c.process.changed = append(c.process.changed, known)
}
