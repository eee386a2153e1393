package loader

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// The memory that the tests of faults give to a target: two pages, the second of which may be hidden.
const (
	firstPage  = 0x7e0000000000
	secondPage = firstPage + 0x1000
	unreadable = 0x10
)

// TestUnreadableMemoryIsCountedOrNull has probes read what cannot be read. What such a hit tells must be a record
// without the value, or be counted as lost: as many as in the script of its case.
func TestUnreadableMemoryIsCountedOrNull(t *testing.T) {
	requireRoot(t)
	ring := ringScript()
	const hide = "hide 7e0000001000 1000"
	trigger := ringTrigger
	for name, test := range map[string]struct {
		entry, second abi.Event
		forms         [2]abi.Form
		amd64         bool
		script        []string
		want          map[abi.Kind][]uint64 // a word of each record, as wordsOf says
		lost          map[abi.Kind]uint64
	}{
		"response without an identity": {
			entry: abi.EventResponseSent, second: abi.EventResponseSent,
			script: []string{
				"call entered 1 10 3", fmt.Sprintf("write %x 2a", firstPage+16), fmt.Sprintf("call entered 1 %x 3", firstPage),
			},
			want: map[abi.Kind][]uint64{abi.KindService: {0x2a}}, lost: map[abi.Kind]uint64{abi.KindService: 1},
		},
		"request without a number": {
			entry: abi.EventRequestSent, second: abi.EventRequestSent, forms: [2]abi.Form{0, abi.FormServiceReturn},
			script: []string{
				fmt.Sprintf("write %x 7", secondPage),
				fmt.Sprintf("call entered 1 2 %x", secondPage), "call returned 0 0 0",
				fmt.Sprintf("call entered 1 2 %x", secondPage), hide, "call returned 0 0 0",
			},
			want: map[abi.Kind][]uint64{abi.KindService: {7}}, lost: map[abi.Kind]uint64{abi.KindService: 1},
		},
		"taken request without a header": {
			entry: abi.EventResponseTaken, second: abi.EventResponseTaken, forms: [2]abi.Form{0, abi.FormServiceReturn},
			script: []string{
				fmt.Sprintf("call entered 1 %x 2", unreadable), "call returned 0 0 0",
				fmt.Sprintf("call entered 1 %x 2", secondPage), "call returned 0 0 0", // nothing was taken
				fmt.Sprintf("call entered 1 %x 2", secondPage), fmt.Sprintf("write %x 9", secondPage+32), "call returned 0 0 0",
				fmt.Sprintf("call entered 1 %x 2", secondPage), hide, "call returned 0 0 0",
			},
			want: map[abi.Kind][]uint64{abi.KindService: {9}}, lost: map[abi.Kind]uint64{abi.KindService: 2},
		},
		"callback group without a type": {
			entry: abi.EventAddCallbackGroup, second: abi.EventExecutorExecute,
			script: []string{
				fmt.Sprintf("write %x %x", firstPage, secondPage), fmt.Sprintf("write %x 1", secondPage), // reentrant
				fmt.Sprintf("call entered 10 %x %x", firstPage, unreadable),
				hide, fmt.Sprintf("call entered 10 %x %x", firstPage, unreadable),
			},
			want: map[abi.Kind][]uint64{abi.KindInit: {1, math.MaxUint32}},
		},
		"serialized take": {
			entry: abi.EventRMWTake, second: abi.EventRMWTake,
			forms: [2]abi.Form{abi.FormTakeSerializedEntry, abi.FormTakeSerializedReturn},
			script: []string{
				fmt.Sprintf("call entered %x 5 %x", unreadable, secondPage), "call returned 0 0 0", // nothing was taken
				fmt.Sprintf("call entered %x 5 %x", unreadable, secondPage), fmt.Sprintf("write %x 63", secondPage), "call returned 0 0 0",
				fmt.Sprintf("call executed %x 0 0", firstPage),
				fmt.Sprintf("call entered %x 5 %x", unreadable, secondPage), hide, "call returned 0 0 0",
			},
			want: map[abi.Kind][]uint64{abi.KindTake: {0}}, lost: map[abi.Kind]uint64{abi.KindTake: 1},
		},
		"intra-process publish": {
			entry: abi.EventRclcppIntraPublish, second: abi.EventRclcppRingBufferEnqueue, amd64: true,
			forms: [2]abi.Form{abi.FormDerived, abi.FormDerived},
			script: slices.Concat(ring, []string{
				"call entered 10 0 0", trigger,
				fmt.Sprintf("call returned %x 0 0", unreadable+96), // of something that was never seen to have a ring
				hide, trigger,
			}),
			want: map[abi.Kind][]uint64{abi.KindEnqueue: {secondPage}, abi.KindPublish: {0}}, lost: map[abi.Kind]uint64{abi.KindEnqueue: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.amd64 && runtime.GOARCH != "amd64" {
				t.Skip("the objects have the layout of amd64")
			}
			library := buildLibrary(t, "libfaults.so")
			c := startTargetWith(t, library)
			ways := ways()
			ways[0].require(t)
			r := newRecording(t, ways[0])
			entry, second := c.site(library, "entered", test.entry), c.site(library, "returned", test.second)
			entry.Form, second.Form = test.forms[0], test.forms[1]
			r.attach(c.pid, entry, second, c.site(library, "executed", abi.EventExecutorExecute))
			c.do("map 7e0000000000 2000")
			for _, line := range test.script {
				c.do(line)
			}
			c.do(fmt.Sprintf("call executed %x 0 0", firstPage)) // which closes what is open
			r.drain()
			if got := r.wordsOf(c.pid); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("records %x, not %x", got, test.want)
			}
			if lost := r.lost(); fmt.Sprint(lost) != fmt.Sprint(test.lost) {
				t.Errorf("lost %v, not %v", lost, test.lost)
			}
		})
	}
}

// wordsOf returns, of each record of a process, what these tests look at: the sequence number of a service's step, the
// source of a take, the buffer of an enqueue, the publisher of a publish, the third argument of an initialization
// event.
func (r *recording) wordsOf(process int32) map[abi.Kind][]uint64 {
	offsets := map[abi.Kind]int{abi.KindService: 56, abi.KindTake: 16, abi.KindEnqueue: 16, abi.KindPublish: 24, abi.KindInit: 40}
	words := map[abi.Kind][]uint64{}
	for _, record := range r.records {
		offset, wanted := offsets[abi.Kind(record[0])]
		if wanted && int32(binary.NativeEndian.Uint32(record[8:])) == process {
			words[abi.Kind(record[0])] = append(words[abi.Kind(record[0])], binary.NativeEndian.Uint64(record[offset:]))
		}
	}
	return words
}

// lost returns the losses by fault.
func (r *recording) lost() map[abi.Kind]uint64 {
	r.t.Helper()
	losses, err := r.loader.Losses()
	if err != nil {
		r.t.Fatal(err)
	}
	lost := map[abi.Kind]uint64{}
	for _, loss := range losses {
		if loss.Reason == abi.ReasonFault {
			lost[loss.Kind] += loss.Count
		} else if !strings.HasPrefix(loss.Kind.String(), "raw") {
			r.t.Errorf("lost %+v", loss)
		}
	}
	return lost
}
