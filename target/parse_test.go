package target

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const mapsExample = `55d0c8e00000-55d0c8e01000 r--p 00000000 fe:01 131084                     /usr/lib/demo nodes/talker
7f3b10c00000-7f3b10c28000 r-xp 00028000 fe:01 2623                       /usr/lib/libc.so.6 (deleted)
7f3b10e00000-7f3b10e02000 rw-p 00000000 00:00 0 
7f3b10e02000-7f3b10e04000 rw-s 00001000 00:01 1025                       /memfd:shared (deleted)
7ffc1a000000-7ffc1a021000 rw-p 00000000 00:00 0                          [stack]
7ffc1a100000-7ffc1a101000 r--p 00000000 103:02 18446744073709551615      /a\012b
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestParseMaps(t *testing.T) {
	mappings, err := parseMaps([]byte(mapsExample))
	if err != nil {
		t.Fatal(err)
	}
	expected := []Mapping{
		{0x55d0c8e00000, 0x55d0c8e01000, 0, "r--p", "/usr/lib/demo nodes/talker", unix.Mkdev(0xfe, 1), 131084},
		{0x7f3b10c00000, 0x7f3b10c28000, 0x28000, "r-xp", "/usr/lib/libc.so.6 (deleted)", unix.Mkdev(0xfe, 1), 2623},
		{0x7f3b10e00000, 0x7f3b10e02000, 0, "rw-p", "", 0, 0},
		{0x7f3b10e02000, 0x7f3b10e04000, 0x1000, "rw-s", "/memfd:shared (deleted)", unix.Mkdev(0, 1), 1025},
		{0x7ffc1a000000, 0x7ffc1a021000, 0, "rw-p", "[stack]", 0, 0},
		{0x7ffc1a100000, 0x7ffc1a101000, 0, "r--p", "/a\nb", unix.Mkdev(0x103, 2), 18446744073709551615},
		{0xffffffffff600000, 0xffffffffff601000, 0, "--xp", "[vsyscall]", 0, 0},
	}
	if !slices.Equal(mappings, expected) {
		t.Errorf("%+v", mappings)
	}
	for _, line := range []string{
		"x", "1-2", "1-2 r-xp", "1-2 r-xp 0 0:0", "2-1 r-xp 0 0:0 0", "1-1 r-xp 0 0:0 0", "1-2 rx 0 0:0 0", "1 r-xp 0 0:0 0",
		"1-2 r-xp g 0:0 0", "1-2 r-xp 0 0 0", "1-2 r-xp 0 0:0 x", "1-2 r-xp 0 0:0 -1", "1-2 r-xp 0 100000000:0 0",
	} {
		if mappings, err := parseMaps([]byte(line)); err == nil {
			t.Errorf("%q: %+v", line, mappings)
		}
	}
}

func TestParseStat(t *testing.T) {
	tail := " 8 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 18446744073709551615"
	for text, expected := range map[string]processStat{
		"7 (talker) S 3" + fmt.Sprintf(tail, 100):         {"talker", 'S', 3, 8, 1_000_000_000, 4194560},
		"7 (a (b) c) R 0" + fmt.Sprintf(tail, 1):          {"a (b) c", 'R', 0, 8, 10_000_000, 4194560},
		"7 () Z 3" + fmt.Sprintf(tail, 0):                 {"", 'Z', 3, 8, 0, 4194560},
		"7 (new\nline) D 3" + fmt.Sprintf(tail, 5) + "\n": {"new\nline", 'D', 3, 8, 50_000_000, 4194560},
	} {
		if stat, err := parseStat([]byte(text)); err != nil || stat != expected {
			t.Errorf("%q: %+v, %v", text, stat, err)
		}
	}
	for _, text := range []string{
		"", "7", "7 (x", "7 )x(", "7 (x) S", "7 (x) S 3 1 1", "7 (x) SS 3" + fmt.Sprintf(tail, 1), "7 (x) S y" + fmt.Sprintf(tail, 1), "7 (x) S 3 y" + fmt.Sprintf(tail, 1),
		"7 (x) S 3" + fmt.Sprintf(tail, -1), "7 (x) S 3" + fmt.Sprintf(tail, int64(1)<<62),
	} {
		if stat, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, stat)
		}
	}
}

func TestRunsProgram(t *testing.T) {
	const format = "7 (x) %s 3 1 1 0 -1 %s 1 0 0 0 0 0 0 0 20 0 1 0 100 0 0"
	for _, test := range []struct {
		state, flags string
		want         bool
	}{{"S", "4194560", true}, {"R", "0", true}, {"Z", "4227084", false}, {"X", "0", false}, {"S", "2129984", false}, {"I", "69238880", false}} {
		stat, err := parseStat(fmt.Appendf(nil, format, test.state, test.flags))
		if err != nil || stat.runsProgram() != test.want {
			t.Errorf("state %s, flags %s: %v, %v", test.state, test.flags, stat.runsProgram(), err)
		}
	}
	if stat, err := parseStat(fmt.Appendf(nil, format, "S", "-1")); err == nil {
		t.Errorf("negative flags: %+v", stat)
	}
}

func TestParseStatus(t *testing.T) {
	text := "Name:\tx\nUmask:\t0022\nTgid:\t42\nNSpid:\t42\t7\nUid:\t0\t1000\t0\t0\nCapEff:\t000001ffffffffff\nx86_Thread_features:\tshstk wrss\n"
	status, err := parseStatus([]byte(text))
	if expected := (Status{42, 7, 1000, true, 0x1ffffffffff}); err != nil || status != expected {
		t.Errorf("%+v, %v", status, err)
	}
	// Kernels without PID namespaces and shadow stacks.
	status, err = parseStatus([]byte("Tgid:\t42\nUid:\t0\t0\t0\t0\nx86_Thread_features:\t\n"))
	if expected := (Status{ThreadGroup: 42, NamespacePID: 42}); err != nil || status != expected {
		t.Errorf("%+v, %v", status, err)
	}
	for _, text := range []string{"", "Name: x\n", "Tgid: x\n", "Tgid: 1\nUid: 0\n", "Tgid: 1\nUid: 0 -1\n", "Tgid: 1\nNSpid: 1 a\n", "Tgid: 1\nCapEff: xyz\n"} {
		if status, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, status)
		}
	}
}

func TestParseNamespaceLink(t *testing.T) {
	if inode, err := parseNamespaceLink("pid:[4026531836]"); err != nil || inode != 4026531836 {
		t.Errorf("%#x, %v", inode, err)
	}
	for _, link := range []string{"", "pid", "pid:[]", "pid:[x]", "pid:[1", "[1]"} {
		if inode, err := parseNamespaceLink(link); err == nil {
			t.Errorf("%q: %d", link, inode)
		}
	}
}

func TestParseLinkerConfiguration(t *testing.T) {
	directories, includes := parseLinkerConfiguration([]byte(
		"# comment\n/a:/b,/c /d\n\tinclude x.d/*.conf /y.conf\nhwcap 0 nosegneg\n\n/e # more\ninclude\n"))
	if !slices.Equal(directories, []string{"/a", "/b", "/c", "/d", "/e"}) || !slices.Equal(includes, []string{"x.d/*.conf", "/y.conf"}) {
		t.Errorf("%q, %q", directories, includes)
	}
}

func TestParseComponentIndex(t *testing.T) {
	libraries := parseComponentIndex([]byte("a::B;lib/liba.so\r\nc::D;lib/liba.so\ne;lib/libe.so;x\n;lib/libf.so\ng;\nh\nz;lib/\x00.so\n"))
	if !slices.Equal(libraries, []string{"lib/liba.so", "lib/libe.so;x", "lib/libf.so"}) {
		t.Errorf("%q", libraries)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte(mapsExample))
	f.Fuzz(func(t *testing.T, text []byte) {
		mappings, err := parseMaps(text)
		if err != nil {
			return
		}
		for _, mapping := range mappings {
			if mapping.Start >= mapping.End || len(mapping.Perm) != 4 {
				t.Errorf("%+v", mapping)
			}
			if mapping.Anonymous() && isROS2Mapping(mapping) {
				t.Errorf("anonymous memory is taken for a library: %+v", mapping)
			}
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a (b) c) S 3 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if stat, err := parseStat(text); err == nil && stat.startTime < 0 {
			t.Errorf("%+v", stat)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Tgid:\t42\nNSpid:\t42\t7\nUid:\t0\t1000\t0\t0\nCapEff:\t000001ffffffffff\nx86_Thread_features:\tshstk wrss\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if status, err := parseStatus(text); err == nil && (status.ThreadGroup <= 0 || status.NamespacePID <= 0) {
			t.Errorf("%+v", status)
		}
	})
}

func FuzzParseComponentIndex(f *testing.F) {
	f.Add([]byte("demo_nodes_cpp::Talker;lib/libtalker_component.so\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, library := range parseComponentIndex(text) {
			if library == "" || strings.ContainsAny(library, "\x00\n") {
				t.Errorf("%q", library)
			}
		}
	})
}

func FuzzParseLinkerConfiguration(f *testing.F) {
	f.Add([]byte("include /etc/ld.so.conf.d/*.conf\n/usr/local/lib # x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		directories, includes := parseLinkerConfiguration(text)
		for _, entry := range append(directories, includes...) {
			if entry == "" || strings.ContainsAny(entry, "# \n") {
				t.Errorf("%q", entry)
			}
		}
	})
}

func FuzzParsePIDs(f *testing.F) {
	f.Add("12, 13\n14")
	f.Fuzz(func(t *testing.T, list string) {
		pids, err := ParsePIDs(list)
		if err == nil && (len(pids) == 0 || slices.Min(pids) <= 0) {
			t.Errorf("%q: %v", list, pids)
		}
	})
}
