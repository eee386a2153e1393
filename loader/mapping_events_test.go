package loader

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMappingsAreTold: the kernel tells of the program that a process runs, and then of what is mapped for it.
func TestMappingsAreTold(t *testing.T) {
	requireRoot(t)
	watched, err := WatchMappings()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EACCES) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := monotonicNow()
	program := exec.Command("true")
	if err := program.Run(); err != nil {
		t.Fatal(err)
	}
	after := monotonicNow()
	var events []MappingEvent
	for len(events) < 3 { // other processors tell in their own time
		watched.Wait(time.Now().Add(time.Hour))
		watched.Read(func(event MappingEvent) {
			if int(event.PID) == program.Process.Pid {
				events = append(events, event)
			}
		})
	}
	slices.SortStableFunc(events, func(a, b MappingEvent) int { return int(a.TimeNs - b.TimeNs) })
	if events[0].Length != 0 {
		t.Fatalf("%+v, lost %d", events, watched.Lost())
	}
	for i, event := range events {
		if event.TimeNs < before || event.TimeNs > after || (event.Length == 0) != (i == 0) || i > 0 && event.Address == 0 {
			t.Errorf("%+v", event)
		}
	}
	if err := watched.Close(); err != nil {
		t.Error(err)
	}
}

// perfRecord is a record as the kernel writes it.
func perfRecord(kind uint32, misc uint16, values ...uint64) []byte {
	record := binary.NativeEndian.AppendUint32(nil, kind)
	record = binary.NativeEndian.AppendUint16(record, misc)
	record = binary.NativeEndian.AppendUint16(record, uint16(perfHeaderSize+8*len(values)))
	for _, value := range values {
		record = binary.NativeEndian.AppendUint64(record, value)
	}
	return record
}

func TestPerfRecords(t *testing.T) {
	const process, name = 9<<32 | 7, 0x65646f6e
	for title, test := range map[string]struct {
		record []byte
		event  MappingEvent
		lost   uint64
		ok     bool
	}{
		"a mapping":     {perfRecord(unix.PERF_RECORD_MMAP, 0, process, 0x7000, 0x2000, 3, name, 55), MappingEvent{7, 0x7000, 0x2000, 55}, 0, true},
		"a program":     {perfRecord(unix.PERF_RECORD_COMM, commExec, process, name, 55), MappingEvent{PID: 7, TimeNs: 55}, 0, true},
		"a name":        {perfRecord(unix.PERF_RECORD_COMM, 0, process, name, 55), MappingEvent{}, 0, false},
		"a loss":        {perfRecord(unix.PERF_RECORD_LOST, 0, 1, 12, 55), MappingEvent{}, 12, false},
		"another":       {perfRecord(99, 0, 1, 2, 3, 4, 5, 6), MappingEvent{}, 0, false},
		"short":         {perfRecord(unix.PERF_RECORD_MMAP, 0, process, 0x7000), MappingEvent{}, 0, false},
		"only a header": {perfRecord(unix.PERF_RECORD_COMM, commExec), MappingEvent{}, 0, false},
		"nothing":       {nil, MappingEvent{}, 0, false},
	} {
		if event, lost, ok := parsePerfRecord(test.record); event != test.event || lost != test.lost || ok != test.ok {
			t.Errorf("%s: %+v, lost %d, %v", title, event, lost, ok)
		}
	}
}

func TestRingBytes(t *testing.T) {
	ring := []byte("abcdefgh")
	for at, want := range map[uint64]string{0: "abc", 5: "fgh", 6: "gha", 15: "hab", 17: "bcd"} {
		if got := string(ringBytes(make([]byte, 0, 8), ring, at, 3)); got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
}

func FuzzPerfRecord(f *testing.F) {
	f.Add(perfRecord(unix.PERF_RECORD_MMAP, 0, 7, 0x7000, 0x2000, 3, 55))
	f.Add(perfRecord(unix.PERF_RECORD_COMM, commExec, 7, 0x65646f6e, 55))
	f.Fuzz(func(t *testing.T, record []byte) {
		if event, _, ok := parsePerfRecord(record); !ok && event != (MappingEvent{}) {
			t.Errorf("%+v", event)
		}
	})
}

// Who has changed its processors is not told of all mappings, also when they are what they were.
func TestMappingsOfOtherProcessors(t *testing.T) {
	online, err := os.Open(onlineProcessors)
	if err != nil {
		t.Skip(err)
	}
	defer online.Close()
	m := &Mappings{online: online}
	begun, err := m.processors()
	if err != nil {
		t.Fatal(err)
	}
	m.begun = begun
	if !m.Complete() {
		t.Error("nothing has changed")
	}
	m.begun = "4711\n"
	if m.Complete() {
		t.Error("the processors have changed")
	}
	m.begun = begun
	if m.Complete() {
		t.Error("the processors had changed")
	}
}
