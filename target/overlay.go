package target

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
)

// distinctFile is a file that has an identity of its own.
type distinctFile struct {
	id      FileID
	overlay bool
	opened  *OpenFile // perhaps closed since
}

// distinctFiles are the files by whose build ID one may be another.
type distinctFiles struct {
	byBuildID map[string]*alikeFiles
	// room is how many build IDs are remembered before those are forgotten whose files nobody holds.
	room int
}

// alikeFiles are the files of one build ID.
type alikeFiles struct {
	files []distinctFile
	at    map[FileID]int
}

// comparison is the work of comparing two files, in bytes that could be read meanwhile. A build ID is easily copied, so
// somebody may have thousands of files to be compared with each other.
const comparison = 20 << 10

// distinctFile returns the identity under which all appearances of one real file go. A file in a lower layer of
// several overlay mounts is one inode for the kernel's uprobes, but has a device number (and depending on the
// layers an inode number) a mount. Only files with equal build-ids are compared, and only where an overlay is
// involved. quota.ErrUsedUp if who pays has no share left: then it is not known which file it is.
func (f *Finder) distinctFile(ctx context.Context, facts fileFacts, opened *OpenFile) (FileID, error) {
	file := distinctFile{FileID{Device: facts.version.device, Inode: facts.version.inode, BuildID: facts.buildID}, facts.overlay, opened}
	if facts.buildID == "" {
		return file.id, nil
	}
	account := quota.From(ctx)
	for _, other := range f.candidates(file) {
		if other.id == file.id {
			return f.remember(other.id, file), nil
		}
		if err := account.Take(quota.Work, comparison); err != nil {
			return FileID{}, fmt.Errorf("%s: %w", opened.path, err)
		}
		if sameContent(other, opened, file.id) {
			return f.remember(other.id, file), nil
		}
	}
	return f.remember(file.id, file), nil
}

// candidates are the files that a file may be.
func (f *Finder) candidates(file distinctFile) []distinctFile {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	alike := f.distinct.byBuildID[file.id.BuildID]
	if alike == nil {
		return nil
	}
	if i, known := alike.at[file.id]; known {
		return []distinctFile{alike.files[i]}
	}
	var candidates []distinctFile
	for _, other := range alike.files {
		if file.overlay || other.overlay {
			candidates = append(candidates, other)
		}
	}
	return candidates
}

// remember notes an appearance of the file with that identity, and returns the identity. It is open as long as somebody
// needs it, so the newest is kept.
func (f *Finder) remember(id FileID, file distinctFile) FileID {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.distinct.forget()
	alike := f.distinct.byBuildID[id.BuildID]
	if alike == nil {
		alike = &alikeFiles{at: map[FileID]int{}}
		f.distinct.byBuildID[id.BuildID] = alike
	}
	i, known := alike.at[id]
	if !known {
		i = len(alike.files)
		alike.at[id] = i
		alike.files = append(alike.files, distinctFile{})
	}
	alike.files[i] = distinctFile{id, file.overlay || alike.files[i].overlay, file.opened}
	return id
}

// forget makes room. Only what nobody holds is forgotten: of such a file no probe can be left, so it needs no common
// identity.
func (d *distinctFiles) forget() {
	if len(d.byBuildID) < d.room {
		return
	}
	for buildID, alike := range d.byBuildID {
		if !slices.ContainsFunc(alike.files, func(file distinctFile) bool { return file.opened.held() }) {
			delete(d.byBuildID, buildID)
		}
	}
	d.room = max(maxRememberedFiles, 2*len(d.byBuildID))
}

// sameContent reports whether the kernel caches both files in the same pages, which is so only for one real inode.
// Without the right to see page frames, equal inode numbers decide: overlayfs takes them from the real files where
// all layers are on one file system. Of a file that nobody holds any more, no probe can be left: it needs no common
// identity.
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
