package target

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Paths that a process names are not followed into a file system for which a program answers: it may never do so.
func TestPathsThroughFilesOfPrograms(t *testing.T) {
	mounted := mountUnanswered(t)
	fake := newFakeProcess(t)
	fake.writeRoot("/home/file", "text")
	if err := os.Mkdir(fake.inRoot("/home/served"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(mounted, fake.inRoot("/home/served"), "", unix.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(fake.inRoot("/home/served"), unix.MNT_DETACH) })
	for link, destination := range map[string]string{"/link": "/home/served", "/linked": "home/served/file", "/beyond": "home/served/../file"} {
		if err := os.Symlink(destination, fake.inRoot(link)); err != nil {
			t.Fatal(err)
		}
	}
	fake.ownedBy(nobody)
	d := fake.delegate()
	defer d.close()
	for _, path := range []string{"/home/served", "/home/served/file", "/link/file", "/linked", "/beyond", "/home/served/../file", "/home/../link"} {
		_, err := ask(d, func(root rootDirectory) ([]byte, error) { return root.readFile(path, 100) })
		if !errors.Is(err, errServedFile) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := ask(d, func(root rootDirectory) ([]string, error) { return root.readDirectory(path, 100) }); !errors.Is(err, errServedFile) {
			t.Errorf("listing %s: %v", path, err)
		}
	}
	text, err := ask(d, func(root rootDirectory) ([]byte, error) { return root.readFile("/home/file", 100) })
	if err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}

// A root directory for which a program answers is not asked for anything.
func TestRootsThatProgramsServe(t *testing.T) {
	mounted := mountUnanswered(t)
	fake := newFakeProcess(t)
	if err := os.Remove(fake.processPath("root")); err != nil {
		t.Fatal(err)
	}
	fake.link(mounted, "root")
	if _, err := fake.inspect().newDelegate(t.Context()); !errors.Is(err, errServedFile) {
		t.Errorf("%v", err)
	}
}

// Paths lead where they would lead the process: a random tree of folders, files and symbolic links is asked for random
// paths, and the kernel knows where they lead.
func TestPathsLeadWhereTheKernelSays(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	names := []string{"a", "b", "c", "d", ".", "..", ""}
	randomPath := func(length int) (path string) {
		for range 1 + random.IntN(length) {
			path += names[random.IntN(len(names))] + "/"
		}
		if random.IntN(2) == 0 {
			path = path[:len(path)-1]
		}
		return path
	}
	found, refused := 0, map[error]int{}
	for range 40 {
		fake := newFakeProcess(t)
		for range 30 {
			at := fake.inRoot("")
			for range 1 + random.IntN(3) {
				at = filepath.Join(at, names[random.IntN(4)])
			}
			switch random.IntN(4) {
			case 0, 1: // what is there already, or has no folder, stays as it is
				_ = os.Mkdir(at, 0o755)
			case 2:
				_ = os.WriteFile(at, nil, 0o644)
			case 3:
				link := randomPath(3)
				if random.IntN(3) == 0 {
					link = "/" + link
				}
				_ = os.Symlink(link, at)
			}
		}
		root, err := fake.inspect().openRoot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer root.close()
		for range 300 {
			path, follow := "/"+randomPath(5), random.IntN(2) == 0
			expected, expectedErr := whereTheKernelFinds(root, path, follow)
			handle, err := root.find(path, follow)
			if err != nil {
				refused[expectedErr]++
				if !errors.Is(err, expectedErr) {
					t.Errorf("%s: %v, in the kernel %v", path, err, expectedErr)
				}
				continue
			}
			found++
			var stat unix.Stat_t
			if err := unix.Fstat(int(handle.Fd()), &stat); err != nil || stat.Ino != expected || expectedErr != nil {
				t.Errorf("%s: inode %d, %v, in the kernel %d, %v", path, stat.Ino, err, expected, expectedErr)
			}
			handle.Close()
		}
	}
	if found < 1000 || refused[unix.ENOENT] < 100 || refused[unix.ENOTDIR] < 100 || refused[unix.ELOOP] < 100 {
		t.Errorf("%d were found, refused were %v", found, refused)
	}
}

func whereTheKernelFinds(root rootDirectory, path string, follow bool) (inode uint64, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(int(root.start.handle.Fd()), path, &how)
	for errors.Is(err, unix.EAGAIN) { // somebody has renamed or mounted something meanwhile, wherever: the kernel is not sure of ".."
		fd, err = unix.Openat2(int(root.start.handle.Fd()), path, &how)
	}
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, fmt.Errorf("fstat: %w", err)
	}
	return stat.Ino, nil
}

// A path is not followed deeper than its folders may be held open: links lead on where it would have an end.
func TestPathsAreNotEndless(t *testing.T) {
	fake := newFakeProcess(t)
	deep := "/d"
	for range maxDepth {
		deep += "/d"
	}
	if err := os.MkdirAll(fake.inRoot(deep), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := fake.inspect().openRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	if _, err := root.find(deep, true); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("%v", err)
	}
	found, err := root.find(deep[2:], true)
	if err != nil {
		t.Fatal(err)
	}
	found.Close()
}
