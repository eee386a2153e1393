package loader

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMapping(t *testing.T) {
	got, ok := parseMapping("7f1c2a000000-7f1c2a021000 r-xp 00003000 fe:01 4718614    /usr/lib/with: spaces.so (deleted)\n")
	want := mapping{start: 0x7f1c2a000000, end: 0x7f1c2a021000, offset: 0x3000, inode: 4718614, executable: true}
	if !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, line := range []string{
		"", "7f1c2a000000 r-xp 0 0:0 0", "x-y r-xp 0 0:0 0", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-xp 0 0:0 -1",
	} {
		if m, ok := parseMapping(line); ok {
			t.Errorf("%q is read as %+v", line, m)
		}
	}
}

func TestExecutableMappings(t *testing.T) {
	mappings, err := executableMappings(int32(os.Getpid()))
	if err != nil || len(mappings) == 0 {
		t.Errorf("mappings %v, error %v", mappings, err)
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add("7f1c2a000000-7f1c2a021000 r-xp 00003000 fe:01 4718614    /usr/lib/librcl.so")
	f.Fuzz(func(t *testing.T, line string) {
		if m, ok := parseMapping(line); ok && m.start >= m.end {
			t.Errorf("%q is read as the mapping %+v", line, m)
		}
	})
}

func TestParseStat(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"
	for _, command := range []string{"node", "a ) R 1 2", ""} {
		state, startTime, err := parseStat("17 (" + command + ")" + rest)
		if err != nil || state != 'S' || startTime != 4242 {
			t.Errorf("command %q: state %c, start time %d, error %v", command, state, startTime, err)
		}
	}
	for _, stat := range []string{"", "17 (node)", "17 (node) S 1", "17 (node)" + strings.Replace(rest, "4242", "x", 1)} {
		if _, _, err := parseStat(stat); err == nil {
			t.Errorf("%q: no error", stat)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("17 (node) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20")
	f.Fuzz(func(_ *testing.T, stat string) { _, _, _ = parseStat(stat) })
}

func TestEventGroupsBelongToRecorders(t *testing.T) {
	own, err := ownIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if !own.isAlive() {
		t.Error("this process is taken for dead")
	}
	if parsed, ok := parseEventGroup(own.eventGroup()); !ok || parsed != own {
		t.Errorf("%s is read as %+v, %v", own.eventGroup(), parsed, ok)
	}
	for _, dead := range []recorderIdentity{{own.pid, own.startTime + 1}, {1 << 22, own.startTime}} {
		if dead.isAlive() {
			t.Errorf("%+v is taken for alive", dead)
		}
	}
	for _, name := range []string{"sched", "caret_bpf_1", "caret_bpf_1_2_3", "my_caret_bpf_1_2", "caret_bpf_99999999999999999999_1"} {
		if _, ok := parseEventGroup(name); ok {
			t.Errorf("%s is taken for a recorder's", name)
		}
	}
}

func FuzzParseEventGroup(f *testing.F) {
	f.Add("caret_bpf_1_2")
	f.Fuzz(func(t *testing.T, name string) {
		if recorder, ok := parseEventGroup(name); ok && recorder.pid < 0 {
			t.Errorf("%q is read as %+v", name, recorder)
		}
	})
}

func TestMissingCapabilities(t *testing.T) {
	bit := func(c capability) uint64 { return 1 << c.number }
	for _, test := range []struct {
		effective    uint64
		needed, want []capability
	}{
		{0, []capability{capBPF, capPerfmon}, []capability{capBPF, capPerfmon}},
		{bit(capBPF), []capability{capBPF, capPerfmon}, []capability{capPerfmon}},
		{1 << unix.CAP_SYS_ADMIN, []capability{capBPF, capPerfmon}, nil},
		{1 << unix.CAP_SYS_ADMIN, []capability{capSysPtrace, capCheckpointRestore}, []capability{capSysPtrace}},
		{^uint64(0), []capability{capSysResource}, nil},
	} {
		if got := missingCapabilities(test.effective, test.needed); !slices.Equal(got, test.want) {
			t.Errorf("%#x: %v missing of %v, want %v", test.effective, got, test.needed, test.want)
		}
	}
}

func TestPermissionErrorNamesTheRemedy(t *testing.T) {
	effective, err := effectiveCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	err = permissionError("loading", unix.EPERM, capBPF, capPerfmon)
	expectError(t, err, ErrPermission)
	expectError(t, err, unix.EPERM)
	if len(missingCapabilities(effective, []capability{capBPF})) == 0 {
		return
	}
	for _, word := range []string{"CAP_BPF", "sudo"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}

func TestSelectedMode(t *testing.T) {
	for modes, want := range map[string]string{
		"none [integrity] confidentiality\n": "integrity", "[none] integrity": "none", "": "none", "[broken": "none",
	} {
		if got := selectedMode(modes); got != want {
			t.Errorf("%q: %q, want %q", modes, got, want)
		}
	}
}
