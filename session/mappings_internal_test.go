package session

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/target"
)

const mapper = int32(7)

func moduleAt(start, end uint64) target.Module {
	return target.Module{Mappings: []target.Mapping{{Start: start - 0x1000, End: start, Perm: "r--p"}, {Start: start, End: end, Perm: "r-xp"}}}
}

func mappedAt(address uint64, at int64) loader.MappingEvent {
	return loader.MappingEvent{PID: mapper, Address: address, Length: 0x1000, TimeNs: at}
}

// TestMappings: a file was mapped when its first executable part was, by the program that runs now.
func TestMappings(t *testing.T) {
	module := moduleAt(0x10000, 0x14000)
	exec := func(at int64) loader.MappingEvent { return loader.MappingEvent{PID: mapper, TimeNs: at} }
	for name, test := range map[string]struct {
		events []loader.MappingEvent
		begun  int64
		first  int64
	}{
		"mapped":                               {[]loader.MappingEvent{mappedAt(0x10000, 50)}, 10, 50},
		"in two parts":                         {[]loader.MappingEvent{mappedAt(0x12000, 60), mappedAt(0x10000, 50)}, 10, 50},
		"mapped twice":                         {[]loader.MappingEvent{mappedAt(0x10000, 50), mappedAt(0x10000, 90)}, 10, 50},
		"read late from another processor":     {[]loader.MappingEvent{mappedAt(0x10000, 90), mappedAt(0x10000, 50)}, 10, 50},
		"before it, and behind it":             {[]loader.MappingEvent{mappedAt(0xf000, 50), mappedAt(0x14000, 50)}, 10, 0},
		"inherited":                            {nil, 10, 0},
		"had before the recording":             {nil, 0, 0},
		"a former program's":                   {[]loader.MappingEvent{mappedAt(0x10000, 50), exec(60)}, 10, 0},
		"a former program's, read late":        {[]loader.MappingEvent{exec(60), mappedAt(0x10000, 50)}, 10, 0},
		"the program's, and a former one's":    {[]loader.MappingEvent{mappedAt(0x10000, 50), exec(60), mappedAt(0x10000, 70)}, 10, 70},
		"that of a former process with its ID": {[]loader.MappingEvent{mappedAt(0x10000, 5)}, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var m mappings
			for _, event := range test.events {
				m.note(event)
			}
			if test.begun != 0 {
				m.beginProcess(mapper, test.begun)
			}
			if told := m.of(mapper, module); told.first != test.first || told.found != (test.first != 0) {
				t.Errorf("%d, %v, want %d", told.first, told.found, test.first)
			}
			m.forget(mapper)
			if m.count != 0 || len(m.ofProcess) != 0 {
				t.Errorf("%d mappings are kept of %d processes", m.count, len(m.ofProcess))
			}
		})
	}
}

// TestMappingsAreBounded: of a process, of all, and in time.
func TestMappingsAreBounded(t *testing.T) {
	var m mappings
	for i := range uint64(2 * maxMappings) {
		m.note(mappedAt(i<<12, 50))
	}
	if len(m.ofProcess[mapper].at) != maxMappings {
		t.Errorf("%d mappings of one process", len(m.ofProcess[mapper].at))
	}
	for pid := range int32(2 * maxAllMappings / maxMappings) {
		for i := range uint64(maxMappings) {
			m.note(loader.MappingEvent{PID: pid + 100, Address: i << 12, Length: 1, TimeNs: 70})
		}
	}
	if m.count != maxAllMappings {
		t.Errorf("%d mappings of all", m.count)
	}
	m.beginProcess(mapper, 20)
	m.expire(60, func(pid int32) bool { return pid == mapper })
	if p := m.ofProcess[mapper]; p == nil || p.begun != 20 || len(p.at) != 0 || m.count != maxAllMappings-maxMappings {
		t.Errorf("%+v, %d in all", p, m.count)
	}
	m.expire(80, func(int32) bool { return false })
	if m.count != 0 || len(m.ofProcess) != 0 {
		t.Errorf("%d mappings of %d processes are kept", m.count, len(m.ofProcess))
	}
}
