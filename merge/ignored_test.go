package merge

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/trace"
)

// decision is what the kernel was told of an address.
type decision struct {
	pid     int32
	address uint64
	ignored bool
}

// TestIgnoredAddresses: an address is told once, and taken back with its process or when another entity has it. Where
// there is no room, a process's others are not told, until it has some again.
func TestIgnoredAddresses(t *testing.T) {
	const room = 2 // of each process
	for name, test := range map[string]struct {
		do   func(m *Merger)
		want []decision
	}{
		"once":               {func(m *Merger) { m.ignore(1, 10); m.ignore(1, 10) }, []decision{{1, 10, true}}},
		"null is no address": {func(m *Merger) { m.ignore(1, 0) }, nil},
		"taken again":        {func(m *Merger) { m.ignore(1, 10); m.forgetIgnored(1, 10) }, []decision{{1, 10, true}, {1, 10, false}}},
		"another was not":    {func(m *Merger) { m.ignore(1, 10); m.forgetIgnored(1, 11); m.forgetIgnored(2, 10) }, []decision{{1, 10, true}}},
		"with its process":   {func(m *Merger) { m.ignore(1, 10); m.ignore(2, 10); m.unignoreAll(1) }, []decision{{1, 10, true}, {2, 10, true}, {1, 10, false}}},
		"without room":       {func(m *Merger) { m.ignore(1, 10); m.ignore(1, 11); m.ignore(1, 12); m.ignore(1, 13) }, []decision{{1, 10, true}, {1, 11, true}, {1, 12, true}}},
		"others have theirs": {func(m *Merger) { m.ignore(1, 10); m.ignore(1, 11); m.ignore(1, 12); m.ignore(2, 10) }, []decision{{1, 10, true}, {1, 11, true}, {1, 12, true}, {2, 10, true}}},
		"when there is again": {func(m *Merger) {
			m.ignore(1, 10)
			m.ignore(1, 11)
			m.ignore(1, 12)
			m.forgetIgnored(1, 11)
			m.ignore(1, 12)
		}, []decision{{1, 10, true}, {1, 11, true}, {1, 12, true}, {1, 11, false}, {1, 12, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []decision
			held := map[int32]int{}
			m := New(Options{OnIgnored: func(pid int32, address uint64, ignored bool) bool {
				got = append(got, decision{pid, address, ignored})
				if !ignored {
					held[pid]--
				} else if held[pid] < room {
					held[pid]++
				} else {
					return false
				}
				return true
			}})
			if test.do(m); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestIgnoredAddressesOfOthers: what one process has of them costs nothing where others begin and end. Were all gone
// through each time, this would take minutes.
func TestIgnoredAddressesOfOthers(t *testing.T) {
	m := New(Options{OnIgnored: func(int32, uint64, bool) bool { return true }})
	for address := range uint64(500_000) {
		m.ignore(1, address+1)
	}
	for pid := range int32(100_000) {
		m.unignoreAll(pid + 2)
	}
	if got := len(m.ignored[1].addresses); got != 500_000 {
		t.Errorf("%d addresses are left", got)
	}
}

// TestIgnoredAddressesOfUnwantedProcesses: who turns out not to be wanted has no addresses any more.
func TestIgnoredAddressesOfUnwantedProcesses(t *testing.T) {
	for name, end := range map[string]func(m *Merger){
		"forgotten":     (*Merger).ForgetUnwanted,
		"another comes": func(m *Merger) { m.AddIfAbsent(7, func() *Process { return newUnwanted(8) }) },
		"it runs another program": func(m *Merger) {
			record := abi.ProcessRecord{Header: abi.RecordHeader{PID: 7, Status: abi.ProcessExec}, StartBoottimeNs: 10_000_000}
			if err := m.changeProcess(&record); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			held := 0
			m := New(Options{OnIgnored: func(_ int32, _ uint64, ignored bool) bool {
				if ignored {
					held++
				} else {
					held--
				}
				return true
			}})
			m.AddIfAbsent(7, func() *Process { return newUnwanted(10_000_000) })
			m.ignore(7, 10)
			if end(m); held != 0 {
				t.Errorf("%d addresses are held", held)
			}
		})
	}
}

func newUnwanted(start int64) *Process {
	key := trace.ProcessKey{PID: 7, ProcessStart: start}
	return &Process{Key: key, Graph: entities.New(key), Unwanted: true}
}
