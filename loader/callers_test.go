package loader

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/probes"
)

// callerTest is a target that has loaded testdata/callers.c, and where it calls and is called.
type callerTest struct {
	*target
	callers, bodies []probes.Site
}

func startCallerTest(t *testing.T) *callerTest {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("on other machines bodies are emulated")
	}
	folder := t.TempDir()
	stubs, callers := filepath.Join(folder, "libstubs.so"), filepath.Join(folder, "libcallers.so")
	if err := compile("-O2", "-shared", "-fPIC", "-o", stubs, "testdata/stubs.c", "-Wl,-soname,libstubs.so"); err != nil {
		t.Fatal(err)
	}
	if err := compile("-O2", "-fcf-protection", "-shared", "-fPIC", "-o", callers, "testdata/callers.c", stubs,
		"-Wl,-rpath,"+folder, "-Wl,-z,ibtplt"); err != nil {
		t.Fatal(err)
	}
	c := &callerTest{target: startTargetWith(t, callers)}
	file, err := elffile.Open(callers)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	events := map[string]abi.Event{"ros_trace_callback_start": abi.EventCallbackStart, "ros_trace_callback_end": abi.EventCallbackEnd}
	found, err := file.CallersOf([]string{"ros_trace_callback_start", "ros_trace_callback_end"})
	if err != nil {
		t.Fatal(err)
	}
	m, path := c.mappingOf(callers)
	for _, caller := range found.Known {
		site := probes.Site{
			Event: events[caller.Callee], Symbol: caller.Callee, Path: path, Opened: openTest(t, path), Address: caller.Address, Offset: caller.FileOffset, Role: abi.RoleCaller,
		}
		if !caller.Jump {
			site.StackWords = -1
		}
		site.File.Inode = m.inode
		c.callers = append(c.callers, site)
	}
	if !slices.ContainsFunc(c.callers, func(s probes.Site) bool { return s.StackWords == 0 }) {
		t.Fatal("no call is a jump")
	}
	for name, event := range events {
		site := c.site(stubs, name, event)
		site.Role = abi.RoleBody
		c.bodies = append(c.bodies, site)
	}
	return c
}

// TestCallsAreSeenOnce calls functions in every way, with only callers probed, only bodies, and both: whatever is seen
// is seen once, with the stack pointer of the function's entry.
func TestCallsAreSeenOnce(t *testing.T) {
	functions := []struct {
		name           string
		callback       uint64
		intra          uint64
		starts         int
		callersSee     int // of the starts
		callersSeeEnds int
	}{
		{"by_call", 7, 1, 1, 1, 1}, {"by_jump", 8, 0, 1, 1, 1}, {"by_pointer", 9, 1, 1, 0, 0}, {"by_table", 4, 1, 1, 1, 1}, {"by_table", 77, 0, 1, 1, 1},
		{"twice", 6, 0, 2, 2, 2}, {"by_pointer", 6, 0, 1, 0, 0}, {"by_call", 6, 0, 1, 1, 1},
	}
	forEachWay(t, func(t *testing.T, w way) {
		for name, choose := range map[string]func(c *callerTest) []probes.Site{
			"callers": func(c *callerTest) []probes.Site { return c.callers },
			"bodies":  func(c *callerTest) []probes.Site { return c.bodies },
			"both":    func(c *callerTest) []probes.Site { return append(c.callers, c.bodies...) },
		} {
			t.Run(name, func(t *testing.T) {
				c := startCallerTest(t)
				r := newRecording(t, w)
				r.attach(c.pid, choose(c)...)
				starts, ends := 0, 0
				for _, f := range functions {
					c.do(fmt.Sprintf("call %s %x %x 0", f.name, f.callback, f.intra))
					if name == "callers" {
						starts, ends = starts+f.callersSee, ends+f.callersSeeEnds
					} else {
						starts, ends = starts+f.starts, ends+f.starts
					}
				}
				if got := r.hits(c.pid, abi.EventCallbackStart); got != starts {
					t.Errorf("%d starts, want %d", got, starts)
				}
				if got := r.hits(c.pid, abi.EventCallbackEnd); got != ends {
					t.Errorf("%d ends, want %d", got, ends)
				}
				r.expectEntryStacks()
			})
		}
	})
}

// expectEntryStacks requires that stack pointers are those of functions at their entry: the return address lies at a
// multiple of 16, less 8.
func (r *recording) expectEntryStacks() {
	r.t.Helper()
	for _, record := range r.records {
		const stackPointer = 24
		if abi.Kind(record[0]) != abi.KindRaw {
			continue
		}
		if stack := binary.NativeEndian.Uint64(record[stackPointer:]); stack%16 != 8 {
			r.t.Errorf("event %d has the stack pointer %#x", record[1], stack)
		}
	}
}

// TestBodiesComeAndGo attaches and detaches bodies beside callers while threads call: nothing is seen twice, nothing
// missed.
func TestBodiesComeAndGo(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		c := startCallerTest(t)
		r := newRecording(t, w)
		r.attach(c.pid, c.callers...)
		const rounds, calls = 5, 20
		for range rounds {
			attachment := r.attach(c.pid, c.bodies...)
			for range calls {
				c.do("call by_call 7 1 0")
			}
			closeAttachment(t, attachment)
			for range calls {
				c.do("call by_jump 7 1 0")
			}
		}
		for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd} {
			if got, want := r.hits(c.pid, event), rounds*2*calls; got != want {
				t.Errorf("%d hits of %v, want %d", got, event, want)
			}
		}
	})
}

// TestBodiesOfOneAndOfAll gives the bodies of a process that has its own links to every process, and takes its own
// away: as with more and more processes that load libraries. Nothing is seen twice, nothing missed, with callers and
// without.
func TestBodiesOfOneAndOfAll(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		if w.features != nil {
			t.Skip("no link is of one process alone")
		}
		for name, choose := range map[string]func(c *callerTest) []probes.Site{
			"with callers":    func(c *callerTest) []probes.Site { return c.callers },
			"without callers": func(*callerTest) []probes.Site { return nil },
		} {
			t.Run(name, func(t *testing.T) {
				c := startCallerTest(t)
				r := newRecording(t, w)
				if callers := choose(c); len(callers) > 0 {
					r.attach(0, callers...)
				}
				own := slices.Clone(c.bodies)
				for i := range own {
					own[i].Role = abi.RoleOwnBody
				}
				const rounds, calls = 3, 10
				call := func() {
					for range calls {
						c.do("call by_call 7 1 0") // each like the one before
						c.do("call twice 7 0 0")
					}
				}
				for range rounds {
					alone := r.attach(c.pid, own...)
					call()
					all := r.attach(0, c.bodies...)
					call()
					closeAttachment(t, alone)
					call()
					closeAttachment(t, all)
				}
				for _, event := range []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd} {
					if got, want := r.hits(c.pid, event), rounds*3*calls*3; got != want {
						t.Errorf("%d hits of %v, want %d", got, event, want)
					}
				}
			})
		}
	})
}
