package target

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/test/otheruser"
)

const attacker, victim = 4242, 1000

// finderWith returns a Finder with so much of one kind, and enough of all others.
func (f *fakeProcess) finderWith(kind quota.Kind, total int64) *Finder {
	totals := quotaTotals()
	totals[kind] = total
	finder := NewFinderAt(f.proc)
	finder.quota = quota.New(totals)
	return finder
}

// TestOneUserLeavesEnough: what one user's files cost leaves enough for another one, and what could not be read for the
// former is not remembered as being so.
func TestOneUserLeavesEnough(t *testing.T) {
	const library = "/opt/ros/jazzy/lib/librcl.so"
	// needed is what that library costs, to the next power of two.
	needed := func(t *testing.T, kind quota.Kind) int64 {
		fake := newFakeProcess(t)
		fake.install(library)
		fake.mapLibrary(library)
		for total := int64(1); ; total *= 2 {
			process, err := fake.finderWith(kind, total).Inspect(t.Context(), fakePID)
			if err != nil {
				t.Fatal(err)
			}
			_, openErr := process.Modules[0].Opened()
			process.Close()
			if openErr == nil {
				return total
			}
		}
	}
	for name, kind := range map[string]quota.Kind{"work": quota.Work, "files": quota.Files} {
		t.Run(name, func(t *testing.T) {
			enough := 4 * needed(t, kind)
			fake := newFakeProcess(t)
			const others = 16
			for i := range others {
				path := fmt.Sprintf("/home/attacker/libstrange%d.so", i)
				fake.install(path)
				fake.mapLibrary(path)
			}
			fake.install(library)
			fake.mapLibrary(library)
			finder := fake.finderWith(kind, enough)
			fake.ownedBy(attacker)
			hostile, err := finder.Inspect(t.Context(), fakePID)
			if err != nil {
				t.Fatal(err)
			}
			defer hostile.Close()
			leftOut := 0
			for _, module := range hostile.Modules {
				if _, err := module.Opened(); errors.Is(err, quota.ErrUsedUp) {
					leftOut++
				}
			}
			if len(hostile.Modules) != others+1 || leftOut < others/2 {
				t.Errorf("%d of %d files are left out", leftOut, len(hostile.Modules))
			}
			refusals := finder.Quota().Refusals()
			if len(refusals) != 1 || refusals[0].User != attacker || refusals[0].Kind != kind {
				t.Errorf("refused: %v", refusals)
			}

			lines := strings.SplitAfter(fake.maps.String(), "\n")
			fake.writeProcess("maps", strings.Join(lines[2*others:], ""))
			fake.ownedBy(victim)
			process := openProcess(t, finder, fakePID)
			if module, _ := process.FindModule("librcl.so"); module.BuildID == "" {
				t.Errorf("nothing is known of the library of another user: %+v", module)
			} else if _, err := module.Opened(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOneUsersProcessesLeaveEnough(t *testing.T) {
	fake := newFakeProcess(t)
	finder := fake.finderWith(quota.Processes, 8)
	fake.ownedBy(attacker)
	var err error
	for range 100 {
		var process *Process
		if process, err = finder.Inspect(t.Context(), fakePID); err != nil {
			break
		}
		defer process.Close()
	}
	if !errors.Is(err, quota.ErrUsedUp) || !strings.Contains(err.Error(), fmt.Sprint("user ", attacker)) {
		t.Errorf("%v", err)
	}
	fake.ownedBy(victim)
	process, err := finder.Inspect(t.Context(), fakePID)
	if err != nil {
		t.Fatal(err)
	}
	process.Close()
	process.Close() // gives nothing twice
	if err := finder.Quota().Of(victim).Take(quota.Processes, 2); err != nil {
		t.Error(err)
	}
	// Those that are left out are counted.
	fake.ownedBy(attacker)
	fake.maps.WriteString("7f0000001000-7f0000002000 r-xp 00000000 08:01 7   /opt/ros/jazzy/lib/librcl.so\n")
	fake.writeProcess("maps", fake.maps.String())
	if found, err := finder.ByName(t.Context(), regexp.MustCompile("component")); len(found) > 0 || !errors.Is(err, quota.ErrUsedUp) ||
		!strings.Contains(err.Error(), "not recorded: 1") {
		t.Errorf("%v, %v", found, err)
	}
}

// TestWhoPays: a program with other rights than its user's has him pay, and so does everybody in a user namespace of
// his.
func TestWhoPays(t *testing.T) {
	fake := newFakeProcess(t)
	fake.writeProcess("status", fmt.Sprintf("Tgid:\t%d\nUid:\t%d\t0\t0\t0\n", fakePID, attacker))
	if user, err := NewFinderAt(fake.proc).payer(fakePID); user != attacker || err != nil {
		t.Errorf("%d, %v", user, err)
	}
	pid := otheruser.Start(t, attacker, "unshare", "--user", "--map-root-user", "unshare", "--user", "--map-root-user")
	if readLink(t, "/proc/self/ns/user") == readLink(t, fmt.Sprintf("/proc/%d/ns/user", pid)) {
		t.Fatal("it is in the namespace of the test")
	}
	if user, err := NewFinder().payer(int32(pid)); user != attacker || err != nil {
		t.Errorf("%d, %v", user, err)
	}
}

func readLink(t *testing.T, path string) string {
	t.Helper()
	link, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestManyModules: a process has as many mapped files as it likes, all of one build ID. Looking at them again takes
// time in proportion.
func TestManyModules(t *testing.T) {
	finder := NewFinder()
	const count = 20_000
	var modules []Module
	for i := range count {
		start := 0x7f0000000000 + uint64(i)<<16
		modules = append(modules, Module{Path: "/lib.so", Mappings: []Mapping{{Start: start, End: start + 4096, Inode: 7}}})
		facts := fileFacts{version: fileVersion{device: 1, inode: uint64(i)}, buildID: "copied"}
		id, err := finder.distinctFile(t.Context(), facts, &OpenFile{files: finder.opened})
		if err != nil || id.Inode != uint64(i) {
			t.Fatal(id, err)
		}
	}
	if missing := missingFrom(modules, modules); len(missing) != 0 {
		t.Errorf("%d are missing", len(missing))
	}
	if missing := missingFrom(modules[1:], modules); len(missing) != 1 {
		t.Errorf("%d are missing", len(missing))
	}
}

// A file that was refused because others of the user's files used up his share is opened when there is room again.
func TestRefusedFilesAreTriedAgain(t *testing.T) {
	fake := newFakeProcess(t)
	for _, library := range []string{"/opt/liba.so", "/opt/libb.so", "/opt/libc.so"} {
		fake.install(library)
		fake.mapLibrary(library)
	}
	finder := fake.finderWith(quota.Files, 4) // half of it is one user's
	process, err := finder.Inspect(t.Context(), fakePID)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	refused := func() (count int) {
		for i := range process.Modules {
			if _, err := process.Modules[i].Opened(); errors.Is(err, quota.ErrUsedUp) {
				count++
				process.Modules[i].tried = time.Time{} // a while ago
			} else if err != nil {
				t.Fatal(err)
			}
		}
		return count
	}
	if got := refused(); got != 1 {
		t.Fatalf("%d were refused", got)
	}
	if changes, err := process.Refresh(t.Context()); err != nil || !changes.Empty() || refused() != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	process.Account().Give(quota.Files, 1) // another process of the user's has ended
	changes, err := process.Refresh(t.Context())
	if err != nil || len(changes.Added) != 1 || len(changes.Removed) != 1 || refused() != 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	process.Account().Take(quota.Files, 1)
}

// A program can have any memory of its own shown as its command line, and of a long one only the beginning is kept.
func TestCommandLinesAreBounded(t *testing.T) {
	for name, test := range map[string]struct{ text string }{
		"arguments without end":    {strings.Repeat("\x00", 4<<20)},
		"one argument":             {strings.Repeat("x", 4<<20)},
		"more than the kernel has": {strings.Repeat("long argument\x00", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t)
			fake.writeProcess("cmdline", test.text)
			process := fake.inspect()
			size := 0
			for _, argument := range process.CommandLine {
				size += len(argument) + 16 // the string's header
			}
			if size > 256<<10 || size == 0 {
				t.Errorf("%d arguments take %d bytes", len(process.CommandLine), size)
			}
		})
	}
}

// What the kernel takes seconds to show of a process is not read to its end, and the user is told.
func TestMapsAreBounded(t *testing.T) {
	fake := newFakeProcess(t)
	fake.install("/opt/librcl.so")
	fake.mapLibrary("/opt/librcl.so")
	line := "7e0000001000-7e0000002000 r--p 00001000 00:2e 7   /" + strings.Repeat("d/", 2000) + "\n"
	fake.writeProcess("maps", fake.maps.String()+strings.Repeat(line, 8192))
	found, err := NewFinderAt(fake.proc).All(t.Context())
	if len(found) > 0 || err == nil || !strings.Contains(err.Error(), "not recorded") {
		t.Errorf("%d processes, %v", len(found), err)
	}
}

// The ament index is the process's own, and can be as long as its user likes.
func TestComponentIndexesAreBounded(t *testing.T) {
	const prefix = "/home/somebody/install"
	fake := newFakeProcess(t, "AMENT_PREFIX_PATH="+strings.TrimSuffix(strings.Repeat(prefix+":", 100), ":"))
	fake.install("/opt/librcl.so")
	fake.mapLibrary("/opt/librcl.so")
	var index strings.Builder
	for i := 0; index.Len() < maxIndexFileSize-20; i++ {
		fmt.Fprintf(&index, "c;%x\n", i)
	}
	folder := prefix + "/share/ament_index/resource_index/rclcpp_components/"
	fake.writeRoot(folder+"p0", index.String())
	for i := 1; i < 100; i++ {
		if err := os.Link(fake.inRoot(folder+"p0"), fake.inRoot(fmt.Sprintf("%sp%d", folder, i))); err != nil {
			t.Fatal(err)
		}
	}
	process := fake.open()
	// What takes longer than somebody waits is an error.
	if _, err := process.Expected(t.Context()); err != nil {
		t.Error(err)
	}
	root, err := process.openRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	files := 0
	libraries := componentLibraries(root, process.amentPrefixes(), func() bool { files++; return false })
	if most := maxIndexTotal/maxIndexFileSize + 2; files > most || len(libraries) == 0 || len(libraries) > maxComponentsTotal {
		t.Errorf("%d files were read, %d libraries found", files, len(libraries))
	}
	files = 0
	if componentLibraries(root, process.amentPrefixes(), func() bool { files++; return true }); files != 1 {
		t.Errorf("nobody waited, and %d files were looked at", files)
	}
}
