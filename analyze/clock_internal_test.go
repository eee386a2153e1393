package analyze

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"testing"
)

// FuzzMessageClocks concludes clocks from arbitrary times of messages between three hosts: that ends, with bounds that
// are not negative.
func FuzzMessageClocks(f *testing.F) {
	message := func(pair byte, sent, received int64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{pair}, uint64(sent)), uint64(received))
	}
	f.Add(append(append(message(1, 0, 100), message(3, 1_000_000_000, 1_000_000_050)...), message(5, 7, 9)...))
	f.Add(append(message(1, math.MinInt64, math.MaxInt64), message(3, math.MaxInt64, math.MinInt64)...))
	f.Add(append(message(1, 1<<60, -1<<60), message(3, -1<<60, 1<<60)...))
	f.Fuzz(func(t *testing.T, text []byte) {
		hosts := []*clockHost{{name: "a"}, {name: "b"}, {name: "c"}}
		evidence := make(clockEvidence)
		var times []int64
		for ; len(text) >= 17 && len(times) < 1000; text = text[17:] {
			from, to := int(text[0]/3)%3, int(text[0])%3
			sent, received := int64(binary.LittleEndian.Uint64(text[1:])), int64(binary.LittleEndian.Uint64(text[9:]))
			if from != to {
				evidence.add(from, to, sent, received)
				times = append(times, sent, received)
			}
		}
		clocks := newMessageClocks(hosts, evidence)
		for _, at := range times {
			for a := range hosts {
				for b := range hosts {
					if of := clocks.between(a, at, b, at); a != b && of.ClockUncertainty.Value < 0 {
						t.Fatalf("%d and %d are within %d", a, b, of.ClockUncertainty.Value)
					}
				}
				if points := clocks.points(a); len(points) > 0 {
					correctionAt(points, at)
				}
			}
		}
	})
}

// What is kept of many messages is bounded: the least of longer and longer windows.
func TestLeastCrossingsAreBounded(t *testing.T) {
	l := newLeastCrossings()
	for i := range int64(5 * mostWindows) {
		l.add(crossing{at: i*leastWindow - 77, difference: 1000 + i%7})
	}
	if len(l.least) > mostWindows || l.count != 5*mostWindows || l.width != 8*leastWindow {
		t.Errorf("%d windows of %d are kept of %d", len(l.least), l.width, l.count)
	}
	for _, c := range l.least {
		if c.difference > 1006 || l.width >= 7*leastWindow && c.difference != 1000 && c.at > 0 && c.at < 5*mostWindows*leastWindow-l.width {
			t.Fatalf("of a window %+v is kept", c)
		}
	}
}

// Means are exact, however small the differences are and great the times.
func TestMeanTime(t *testing.T) {
	const many = 65_536
	creeping := make([]int64, many)
	for i := range creeping {
		creeping[i] = math.MaxInt64/4 + int64(i)
	}
	for _, test := range []struct {
		times []int64
		want  int64
	}{
		{[]int64{7}, 7}, {[]int64{-1, -2}, -2}, {[]int64{math.MaxInt64, math.MaxInt64 - 2}, math.MaxInt64 - 1}, {creeping, math.MaxInt64/4 + many/2 - 1},
	} {
		if got := meanTime(test.times); got != test.want {
			t.Errorf("the mean of %d times is %d, want %d", len(test.times), got, test.want)
		}
	}
}

// Of more messages than are kept, a share is found, whatever the order. Nothing is taken for another one.
func TestSentMessagesAreBounded(t *testing.T) {
	s := newSentMessages(100)
	for i := range int64(10_000) {
		s.add(messageKey{of: "/t", number: i}, sentMessage{at: i})
	}
	found := 0
	for i := range int64(10_000) {
		m, ok := s.find(messageKey{of: "/t", number: i}, "")
		if ok && m.at != i {
			t.Fatalf("of %d %d was found", i, m.at)
		}
		if ok {
			found++
		}
	}
	if len(s.kept) > 100 || found != len(s.kept) || found == 0 {
		t.Errorf("%d are kept, %d found", len(s.kept), found)
	}
}

// Which share of messages is kept is the same each time, so that answers are.
func TestSameSentMessagesAreKept(t *testing.T) {
	var kept [2]*sentMessages
	for run := range kept {
		kept[run] = newSentMessages(100)
		for i := range int64(1000) {
			kept[run].add(messageKey{of: "/t", call: callPart(i % 3), client: fmt.Sprint(i % 7), number: i}, sentMessage{at: i})
		}
	}
	if len(kept[0].kept) == 0 || !maps.Equal(kept[0].kept, kept[1].kept) {
		t.Errorf("%d messages are kept, and %d others", len(kept[0].kept), len(kept[1].kept))
	}
}

// A message that several others may have been is none.
func TestSentMessagesAreCertain(t *testing.T) {
	key := messageKey{of: "/t", number: 1}
	here, there := sentMessage{host: 0, at: 5, gid: "aa"}, sentMessage{host: 1, at: 5, gid: "bb"}
	for _, test := range []struct {
		name string
		sent []sentMessage
		gid  string
		want bool
	}{
		{"alone", []sentMessage{here}, "", true},
		{"of its publisher", []sentMessage{here}, "aa", true},
		{"of another publisher", []sentMessage{here}, "bb", false},
		{"recorded twice", []sentMessage{{at: 7, gid: "aa"}, here}, "aa", true},
		{"of two publishers", []sentMessage{here, there}, "aa", false},
	} {
		s := newSentMessages(100)
		for _, m := range test.sent {
			s.add(key, m)
		}
		if m, ok := s.find(key, test.gid); ok != test.want || ok && m.at != 5 {
			t.Errorf("%s: %+v, %t", test.name, m, ok)
		}
	}
}
