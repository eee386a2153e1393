package entities

import (
	"context"
	"debug/elf"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// maxScanReads bounds the reads of a scan of an image that is filled with anything.
const maxScanReads = maxReads + maxReads/2

// FuzzScan writes arbitrary words over a process that has one of everything: the scan ends, and all that it believes is
// plausible.
func FuzzScan(f *testing.F) {
	f.Add([]byte{}, uint64(0))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(1))
	f.Fuzz(func(t *testing.T, words []byte, seed uint64) {
		for _, distro := range []string{"humble", "jazzy"} {
			m := newImage(t, distro, elf.EM_X86_64)
			w := newWorld(t, m)
			overwrite(m, words, seed)
			m.reads = 0
			snapshot, err := Scan(context.Background(), m, m.layout, 1)
			if err != nil {
				t.Fatal(err)
			}
			if m.reads > maxScanReads {
				t.Errorf("%d reads", m.reads)
			}
			checkPlausible(t, snapshot, w)
			g := New(testKey)
			g.Apply(snapshot)
			g.Rows(true)
			if again := rowsByKey(g.Rows(true)); len(again) != 0 {
				t.Errorf("told twice: %+v", again)
			}
		}
	})
}

// FuzzScanOfVanishingMemory takes pages away and gives them back at every read, and ends the process at some: the scan
// ends, too, and all that it says of an entity is so.
func FuzzScanOfVanishingMemory(f *testing.F) {
	f.Add(uint64(0), uint8(0), uint16(0))
	f.Add(uint64(1), uint8(30), uint16(0))
	f.Add(uint64(2), uint8(200), uint16(500))
	f.Add(uint64(3), uint8(3), uint16(60000))
	f.Fuzz(func(t *testing.T, seed uint64, missing uint8, reads uint16) {
		for _, distro := range []string{"humble", "jazzy"} {
			m := newImage(t, distro, elf.EM_X86_64)
			want := rowsByKey(newWorld(t, m).rows())
			left := math.MaxInt
			if reads > 0 {
				left = int(reads)
			}
			m.reads = 0
			snapshot, err := Scan(context.Background(), exiting{vanishing{m, rand.New(rand.NewPCG(seed, 1)), missing}, &left}, m.layout, 1)
			if err != nil && !errors.Is(err, target.ErrExited) || snapshot == nil {
				t.Fatal(err)
			}
			if m.reads > maxScanReads {
				t.Errorf("%d reads", m.reads)
			}
			g := New(testKey)
			g.Apply(snapshot)
			for key, row := range rowsByKey(g.Rows(true)) {
				if !agrees(row, want[key]) {
					t.Errorf("got %+v, there is %+v", row, want[key])
				}
			}
		}
	})
}

// vanishing is memory of which each read finds some of the heap's pages missing: so many of 256.
type vanishing struct {
	*image
	random  *rand.Rand
	missing uint8
}

func (s vanishing) ReadAt(p []byte, address uint64) error {
	if address >= s.heap.start && address < s.heap.start+uint64(len(s.heap.data)) && uint8(s.random.Uint32()) < s.missing {
		return errUnmapped
	}
	return s.image.ReadAt(p, address)
}

// agrees reports whether a row says nothing but what another one of its kind says. It may say less.
func agrees(row, all any) bool {
	got, want := reflect.ValueOf(row), reflect.ValueOf(all)
	if got.Type() != want.Type() {
		return false
	}
	for i := range got.NumField() {
		if !got.Field(i).IsZero() && !got.Field(i).Equal(want.Field(i)) {
			return false
		}
	}
	return true
}

// overwrite puts words at places of the heap that the seed chooses: pointers from elsewhere in it, and the words given.
func overwrite(m *image, words []byte, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	used := int(m.heap.next / wordSize)
	for i := 0; i+wordSize <= len(words); i += wordSize {
		at := random.IntN(used) * wordSize
		copy(m.heap.data[at:at+wordSize], words[i:i+wordSize])
	}
	for range seed % 64 {
		from, to := random.IntN(used)*wordSize, random.IntN(used)*wordSize
		copy(m.heap.data[to:to+wordSize], m.heap.data[from:from+wordSize])
	}
}

func checkPlausible(t *testing.T, snapshot *Snapshot, w *world) {
	t.Helper()
	rows := &snapshot.Entities
	for _, row := range rows.Nodes {
		if !isBaseName(row.NodeName) || !isName(row.Namespace) {
			t.Errorf("node %+v", row)
		}
	}
	for _, row := range rows.Publishers {
		if !isTopic(row.TopicName) || row.QueueDepth.Value > maxDepth {
			t.Errorf("publisher %+v", row)
		}
	}
	for _, row := range rows.Subscriptions {
		if !isTopic(row.TopicName) || row.QueueDepth.Value > maxDepth {
			t.Errorf("subscription %+v", row)
		}
	}
	for _, row := range rows.Executors {
		if row.Executor != trace.Address(w.executor) || row.ThreadCount.Value > maxThreads {
			t.Errorf("executor %+v", row)
		}
	}
	if len(rows.CallbackGroups) > maxMembers || len(rows.Timers) > maxMembers {
		t.Errorf("%d callback groups, %d timers", len(rows.CallbackGroups), len(rows.Timers))
	}
}

// TestRandomMemory: in memory of random words, some of which point into it and into files, nothing is found.
func TestRandomMemory(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range []*region{&m.heap, &m.file} {
		for at := uint64(0); at < uint64(len(r.data)); at += wordSize {
			word := random.Uint64()
			switch random.IntN(4) {
			case 0:
				word = m.heap.start + word%uint64(len(m.heap.data))&^7
			case 1, 2:
				word = m.file.start + word%uint64(len(m.file.data))&^7
			}
			m.set(r.start+at, word)
		}
	}
	if rows := rowsByKey(scanned(t, m, m)); len(rows) != 0 {
		t.Errorf("found %+v", rows)
	}
	if m.reads > maxScanReads {
		t.Errorf("%d reads", m.reads)
	}
}

// TestEndlessClassNames: strings without an end are read up to a bound only.
func TestEndlessClassNames(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	name := m.allocate(&m.file, 32<<10)
	for i := range uint64(32 << 10) {
		m.file.data[name-m.file.start+i] = 'N'
	}
	for range 200 {
		typeInfo := m.allocate(&m.file, 16)
		m.set(typeInfo, m.flavor("N10__cxxabiv117__class_type_infoE"))
		m.set(typeInfo+8, name)
		m.instance(m.allocate(&m.heap, 16), typeInfo, 0)
	}
	if rows := rowsByKey(scanned(t, m, m)); len(rows) != 0 {
		t.Errorf("found %+v", rows)
	}
}

// TestCircularBases: a class that is its own base is none.
func TestCircularBases(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	own := m.typeInfo("N4user4SelfE", m.base(publisherBaseName))
	m.set(own+16, own)
	m.instance(m.object(), own, 0)
	wide := m.typeInfo("N4user4WideE", m.base("N4user1AE"), m.base("N4user1BE"))
	for i := range uint64(2) {
		m.set(wide+24+16*i, wide)
	}
	m.instance(m.object(), wide, 0)
	if rows := rowsByKey(scanned(t, m, m)); len(rows) != 0 {
		t.Errorf("found %+v", rows)
	}
}
