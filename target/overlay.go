package target

import (
	"encoding/binary"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// distinctFile is a file that has an identity of its own.
type distinctFile struct {
	id      FileID
	overlay bool
	opened  *OpenFile // perhaps closed since
}

// distinctFile returns the identity under which all appearances of one real file go. A file in a lower layer of
// several overlay mounts is one inode for the kernel's uprobes, but has a device number (and depending on the
// layers an inode number) a mount. Only files with equal build-ids are compared, and only where an overlay is
// involved.
func (f *Finder) distinctFile(facts fileFacts, opened *OpenFile) FileID {
	id := FileID{Device: facts.version.device, Inode: facts.version.inode, BuildID: facts.buildID}
	if facts.buildID == "" {
		return id
	}
	f.mutex.Lock()
	known := slices.Clone(f.distinct[facts.buildID])
	f.mutex.Unlock()
	for i, other := range known {
		if other.id == id || (facts.overlay || other.overlay) && sameContent(other, opened, id) {
			// It is open as long as somebody needs it: keep the newest.
			f.remember(facts.buildID, i, distinctFile{other.id, other.overlay || facts.overlay, opened})
			return other.id
		}
	}
	f.remember(facts.buildID, len(known), distinctFile{id, facts.overlay, opened})
	return id
}

func (f *Finder) remember(buildID string, index int, file distinctFile) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.distinct) >= maxRememberedFiles {
		clear(f.distinct)
	}
	if files := f.distinct[buildID]; index < len(files) {
		files[index] = file
	} else {
		f.distinct[buildID] = append(files, file)
	}
}

// sameContent reports whether the kernel caches both files in the same pages, which is so only for one real inode.
// Without the right to see page frames, equal inode numbers decide: overlayfs takes them from the real files where
// all layers are on one file system. Of a file that nobody holds any more, no probe can be left: it needs no common identity.
func sameContent(known distinctFile, opened *OpenFile, id FileID) bool {
	if known.opened.Hold() != nil {
		return false
	}
	defer known.opened.Release()
	first, firstOK := cachedFrame(known.opened)
	second, secondOK := cachedFrame(opened)
	if !firstOK || !secondOK {
		return known.id.Inode == id.Inode
	}
	return first == second
}

// cachedFrame is the number of the page frame that caches the file's first page.
func cachedFrame(opened *OpenFile) (uint64, bool) {
	if opened.Hold() != nil {
		return 0, false // its descriptor may be another's by now
	}
	defer opened.Release()
	pageSize := os.Getpagesize()
	page, err := unix.Mmap(int(opened.file.Fd()), 0, pageSize, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return 0, false
	}
	defer func() { _ = unix.Munmap(page) }()
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return 0, false
	}
	defer pagemap.Close()
	var raw [pagemapEntrySize]byte
	if _, err := pagemap.ReadAt(raw[:], int64(addressOf(page))/int64(pageSize)*pagemapEntrySize); err != nil {
		return 0, false
	}
	const frameMask = 1<<55 - 1
	entry := binary.LittleEndian.Uint64(raw[:])
	frame := entry & frameMask
	return frame, entry&pagePresent != 0 && frame != 0
}
