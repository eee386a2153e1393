package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/quota"
)

// OpenFile is a file of a process, opened when it was first looked at. Whatever is concluded from it and done with it
// goes through the one descriptor: the path by which it was opened may lead to another file a moment later. All
// processes that map the file share it.
//
// It is open as long as somebody holds it: the Process of whose modules it is, and whoever calls Hold.
type OpenFile struct {
	path    string
	version fileVersion
	files   *openFiles
	holders int // guarded by files
	// account is that of who was the first to need it.
	account *quota.Account

	// file is closed only when nobody holds it, so its descriptor's number stays its own for those who do.
	file *os.File
}

// openFiles are the files that are open, each once.
type openFiles struct {
	mutex sync.Mutex
	open  map[fileVersion]*OpenFile
}

// fileVersion names the content of a file at one time.
type fileVersion struct {
	device, inode uint64
	FileTimes
}

// FileTimes change when a file is written. Times are Unix nanoseconds, the size is in bytes.
type FileTimes struct {
	Size, Modified, Changed int64
}

func versionOf(fd int) (fileVersion, uint32, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fileVersion{}, 0, err
	}
	return fileVersion{
		device: stat.Dev, inode: stat.Ino,
		FileTimes: FileTimes{Size: stat.Size, Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano()},
	}, stat.Mode, nil
}

// cachedVersion is what the kernel has noted of a file, without asking its file system.
func cachedVersion(fd int) (version fileVersion, ok bool) {
	var stat unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return fileVersion{}, false
	}
	nano := func(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	return fileVersion{
		device: unix.Mkdev(stat.Dev_major, stat.Dev_minor), inode: stat.Ino,
		FileTimes: FileTimes{Size: int64(stat.Size), Modified: nano(stat.Mtime), Changed: nano(stat.Ctime)},
	}, true
}

// openPath opens the regular file at a path, unless refuse returns an error for a descriptor that stands for it. The
// caller holds it, and the account pays if nobody does so yet.
func (f *openFiles) openPath(account *quota.Account, path string, refuse func(handle int) error) (*OpenFile, error) {
	// It is looked at before it is opened for reading: opening a device has effects, a FIFO waits.
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	defer unix.Close(fd)
	return f.openUnlessRefused(account, fd, path, refuse)
}

// openUnlessRefused is openPath for the file that an O_PATH descriptor stands for.
func (f *openFiles) openUnlessRefused(account *quota.Account, fd int, path string, refuse func(handle int) error) (*OpenFile, error) {
	if version, ok := cachedVersion(fd); ok {
		if opened := f.known(version); opened != nil {
			return opened, nil // nothing is asked of its file system
		}
	}
	if err := refuse(fd); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f.openHandle(account, fd, path)
}

// openHandle is openUnlessRefused for a file that nobody refuses.
func (f *openFiles) openHandle(account *quota.Account, handle int, path string) (*OpenFile, error) {
	version, mode, err := versionOf(handle)
	switch {
	case err != nil:
		return nil, openError(path, err)
	case mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s: %w: not a regular file", path, elffile.ErrNotELF)
	}
	if opened := f.known(version); opened != nil {
		return opened, nil
	}
	file, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", handle), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		var cause unix.Errno
		errors.As(err, &cause)
		return nil, openError(path, cause)
	}
	return f.adopt(account, file, path)
}

// adopt is openPath for a regular file that was opened for reading, which it takes over.
func (f *openFiles) adopt(account *quota.Account, file *os.File, path string) (*OpenFile, error) {
	// What is kept under a version was of that version when it was opened.
	version, _, err := versionOf(int(file.Fd()))
	if err != nil {
		file.Close()
		return nil, openError(path, err)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if opened := f.open[version]; opened != nil {
		file.Close()
		opened.holders++
		return opened, nil
	}
	if err := account.Take(quota.Files, 1); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	opened := &OpenFile{path: path, version: version, files: f, holders: 1, account: account, file: file}
	f.open[version] = opened
	return opened, nil
}

func (f *openFiles) known(version fileVersion) *OpenFile {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	opened := f.open[version]
	if opened != nil {
		opened.holders++
	}
	return opened
}

// count is how many files are open.
func (f *openFiles) count() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.open)
}

func openError(path string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		err = fmt.Errorf("%w: one is kept for each file that the recorded processes map; raise the hard limit (ulimit -Hn, LimitNOFILE=): %w",
			ErrTooManyFiles, err)
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}

// OpenFile opens a file that is of no process. It must be released.
func (f *Finder) OpenFile(path string) (*OpenFile, error) { return f.opened.openPath(nil, path, trust) }

// trust refuses no file: whoever runs this program has named it.
func trust(int) error { return nil }

// Hold keeps the file open until Release. ErrFileClosed if it was let go of before.
func (o *OpenFile) Hold() error {
	o.files.mutex.Lock()
	defer o.files.mutex.Unlock()
	if o.holders == 0 {
		return fmt.Errorf("%s: %w", o.path, ErrFileClosed)
	}
	o.holders++
	return nil
}

func (o *OpenFile) held() bool {
	o.files.mutex.Lock()
	defer o.files.mutex.Unlock()
	return o.holders > 0
}

// Release takes back one Hold. The last one closes the file.
func (o *OpenFile) Release() {
	o.files.mutex.Lock()
	defer o.files.mutex.Unlock()
	if o.holders--; o.holders > 0 {
		return
	}
	delete(o.files.open, o.version)
	o.account.Give(quota.Files, 1)
	o.file.Close()
}

// ReadAt reads the file as it is now.
func (o *OpenFile) ReadAt(buffer []byte, offset int64) (int, error) {
	return o.file.ReadAt(buffer, offset)
}

// ELF reads the file's headers as they are now. The result is of use as long as the file is held and ctx has not ended.
// It must be closed. Who pays for ctx pays for what the result is asked for.
func (o *OpenFile) ELF(ctx context.Context) (*elffile.File, error) {
	file, err := elffile.NewMetered(o, newMeter(ctx))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.path, err)
	}
	return file, nil
}

// KernelPath names the open file to the kernel, whatever has become of the path by which it was opened. It is of use as
// long as the file is held.
func (o *OpenFile) KernelPath() string { return fmt.Sprintf("/proc/self/fd/%d", o.file.Fd()) }

// Times are those of the file when it was opened.
func (o *OpenFile) Times() FileTimes { return o.version.FileTimes }

// Unchanged returns ErrFileWritten if the file's content may not be what it was when the file was opened. Its owner can
// write it so that this does not show.
func (o *OpenFile) Unchanged() error {
	version, _, err := versionOf(int(o.file.Fd()))
	if err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	if version.Size != o.version.Size || version.Modified != o.version.Modified {
		return fmt.Errorf("%s: %w", o.path, ErrFileWritten)
	}
	return nil
}
