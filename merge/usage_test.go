package merge_test

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The addresses of intraProcessEntities, and a callback of which nothing is known.
const (
	intraCallback, interCallback  = 0x32, 0x33
	intraBuffer                   = 0x70
	otherSubscription, otherTaken = 0x26, 0x36
	timerCallback, foreign        = 0x50, 0x77
	serviceCallback               = 0x91
)

var (
	ownGID     = [2]uint64{0x0102, 0x03040000}
	silentGID  = [2]uint64{0x0102, 0x05040000}
	foreignGID = [2]uint64{0x0909, 0x03040000}
)

func gidBytes(gid [2]uint64) string {
	var bytes [24]byte
	for i, word := range gid {
		for j := range 8 {
			bytes[8*i+j] = byte(word >> (8 * j))
		}
	}
	return string(bytes[:])
}

// intraProcessEntities announces a node with two publishers of /topic, of which the second one has no intra-process
// communication, a subscription of /topic with it (rmw 0x21) and one of another topic without (rmw 0x27), a timer and a
// service.
func intraProcessEntities() [][]byte {
	return [][]byte{
		initEvent(abi.EventRclNodeInit, 1, "node", "", 0x10, 0x11),
		initEvent(abi.EventRMWPublisherInit, 2, gidBytes(ownGID), "", 0x61),
		initEvent(abi.EventRclPublisherInit, 3, "/topic", "", 0x60, 0x10, 0x61, 0, 10),
		initEvent(abi.EventRMWPublisherInit, 4, gidBytes(silentGID), "", 0x63),
		initEvent(abi.EventRclPublisherInit, 5, "/topic", "", 0x62, 0x10, 0x63, 0, 10),
		initEvent(abi.EventRclSubscriptionInit, 6, "/topic", "", 0x20, 0x10, 0x21, 0, 10),
		initEvent(abi.EventRclcppConstructRingBuffer, 7, "", "", intraBuffer, 10),
		initEvent(abi.EventRclcppBufferToIPB, 8, "", "", intraBuffer, 0x71),
		initEvent(abi.EventRclcppIPBToSubscription, 9, "", "", 0x71, 0x22),
		initEvent(abi.EventRclcppSubscriptionCallbackAdded, 10, "", "", 0x22, intraCallback),
		initEvent(abi.EventRclcppSubscriptionInit, 11, "", "", 0x20, 0x22),
		initEvent(abi.EventRclcppSubscriptionInit, 12, "", "", 0x20, 0x23),
		initEvent(abi.EventRclcppSubscriptionCallbackAdded, 13, "", "", 0x23, interCallback),
		initEvent(abi.EventRclSubscriptionInit, 14, "/other", "", otherSubscription, 0x10, 0x27, 0, 10),
		initEvent(abi.EventRclcppSubscriptionInit, 15, "", "", otherSubscription, 0x28),
		initEvent(abi.EventRclcppSubscriptionCallbackAdded, 16, "", "", 0x28, otherTaken),
		initEvent(abi.EventRclTimerInit, 17, "", "", 0x40, 100),
		initEvent(abi.EventRclcppTimerCallbackAdded, 18, "", "", 0x40, timerCallback),
		initEvent(abi.EventRclcppTimerLinkNode, 19, "", "", 0x40, 0x10),
		initEvent(abi.EventRclServiceInit, 20, "/service", "", 0x90, 0x10, 0x92),
		initEvent(abi.EventRclcppServiceCallbackAdded, 21, "", "", 0x90, serviceCallback),
	}
}

func intraPublish(publisher uint64) []byte {
	return encode(abi.PublishRecord{
		Header: header(abi.KindPublish, abi.PublishComplete, 0), Publisher: publisher, IntraNs: 50, RclNs: 51, Layers: abi.LayerIntra | abi.LayerRcl,
	})
}

func taken(rmwSubscription uint64, gid [2]uint64) abi.Feed {
	return abi.Feed{Source: rmwSubscription, Message: 0x99, Stamp: 12345, TimeNs: 90, GID: gid, Details: abi.DetailGID}
}

func started(callback uint64, flags uint8, by abi.Feed) []byte {
	return encode(abi.CallbackRecord{Header: header(abi.KindCallback, abi.CallbackComplete, flags), Callback: callback, StartNs: 100, EndNs: 200, Feed: by})
}

// A take feeds the callback that follows it on its thread only if that is known to be of the take's subscription.
func TestTakesFeedTheirOwnCallback(t *testing.T) {
	const (
		byTake    = abi.FlagFedByTake
		byDequeue = abi.FlagFedByDequeue | abi.FlagIntraProcess
	)
	dequeued := func(buffer uint64) abi.Feed { return abi.Feed{Source: buffer, Message: 3, Stamp: 1, TimeNs: 90} }
	for name, test := range map[string]struct {
		callback uint64
		flags    uint8
		by       abi.Feed
		kind     trace.CallbackKind // of the callback
		take     trace.TakeKind     // "": it fed the callback
		topic    string             // of the callback
	}{
		"its own":                          {interCallback, byTake, taken(0x21, foreignGID), trace.KindSubscription, "", "/topic"},
		"its own, from an own publisher":   {interCallback, byTake, taken(0x21, silentGID), trace.KindSubscription, "", "/topic"},
		"another subscription's":           {otherTaken, byTake, taken(0x21, foreignGID), "", trace.TakeRMW, "/other"},
		"a timer's":                        {timerCallback, byTake, taken(0x21, foreignGID), trace.KindTimer, trace.TakeRMW, ""},
		"a service's":                      {serviceCallback, byTake, taken(0x21, foreignGID), trace.KindService, trace.TakeRMW, "/service"},
		"unknown after a dropped one":      {foreign, byTake, taken(0x21, ownGID), "", trace.TakeIgnored, ""},
		"unknown, the own one is known":    {foreign, byTake, taken(0x21, foreignGID), "", trace.TakeRMW, ""},
		"unknown, the own one is not":      {foreign, byTake, taken(0x27, foreignGID), "", trace.TakeUnattributed, ""},
		"of an unknown subscription":       {interCallback, byTake, taken(0x29, foreignGID), trace.KindSubscription, trace.TakeUnattributed, "/topic"},
		"all is unknown":                   {foreign, byTake, taken(0x29, foreignGID), "", trace.TakeUnattributed, ""},
		"its own buffer's":                 {intraCallback, byDequeue, dequeued(intraBuffer), trace.KindIntraProcessSubscription, "", "/topic"},
		"another buffer's":                 {intraCallback, byDequeue, dequeued(0x75), trace.KindIntraProcessSubscription, trace.TakeDequeue, "/topic"},
		"a buffer's, the owner is unknown": {foreign, byDequeue, dequeued(intraBuffer), trace.KindIntraProcessSubscription, trace.TakeUnattributed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rows := feed(t, merge.Options{}, append(intraProcessEntities(), intraPublish(0x60), started(test.callback, test.flags, test.by))...)
			if len(rows.Callbacks) != 1 {
				t.Fatalf("rows %+v", rows)
			}
			callback := rows.Callbacks[0]
			fed := callback.SourceTimestamp.Valid || callback.DequeueIndex.Valid
			if fed != (test.take == "") || fed == (len(rows.Takes) == 1) || callback.Kind != test.kind || callback.TopicName != test.topic {
				t.Fatalf("callback %+v, takes %+v", callback, rows.Takes)
			}
			if fed {
				return
			}
			if callback.Message != 0 || callback.RMWSubscriptionHandle != 0 || callback.PublisherGID != "" || callback.Buffer != 0 ||
				test.callback == foreign && (callback.NodeName != "" || callback.SubscriptionHandle != 0) {
				t.Errorf("callback %+v", callback)
			}
			if take := rows.Takes[0]; take.Kind != test.take || take.RMWSubscriptionHandle != 0 && take.SourceTimestamp != trace.Some(int64(12345)) {
				t.Errorf("take %+v", take)
			}
		})
	}
}

// What rclcpp drops, because it comes through a buffer, too, is told from what was polled where the publisher is known.
func TestDroppedTakesAreIgnored(t *testing.T) {
	const cycloneHandle = 0x1234
	for name, test := range map[string]struct {
		subscription uint64
		gid          [2]uint64
		details      uint32
		want         trace.TakeKind
	}{
		"of a publisher with intra-process communication": {0x21, ownGID, abi.DetailGID, trace.TakeIgnored},
		"loaned": {0x21, ownGID, abi.DetailGID | abi.DetailLoaned, trace.TakeIgnored},
		"of one of the process that was not seen to have it": {0x21, silentGID, abi.DetailGID, trace.TakeUnattributed},
		"of another process":                                     {0x21, foreignGID, abi.DetailGID, trace.TakeRMW},
		"of nobody knows whom":                                   {0x21, ownGID, 0, trace.TakeUnattributed},
		"a handle that cannot be compared":                       {0x21, [2]uint64{cycloneHandle}, abi.DetailGID, trace.TakeUnattributed},
		"by a subscription without it":                           {0x27, ownGID, abi.DetailGID, trace.TakeRMW},
		"serialized, by a subscription without it":               {0x27, ownGID, abi.DetailGID | abi.DetailSerialized, trace.TakeSerialized},
		"of nobody knows whom, by a subscription without it":     {0x27, ownGID, 0, trace.TakeRMW},
		"of a publisher with it, by a subscription nobody knows": {0x29, ownGID, abi.DetailGID, trace.TakeRMW},
	} {
		t.Run(name, func(t *testing.T) {
			by := taken(test.subscription, test.gid)
			by.Details = test.details
			rows := feed(t, merge.Options{}, append(intraProcessEntities(), intraPublish(0x60),
				encode(abi.TakeRecord{Header: header(abi.KindTake, 0, abi.FlagFedByTake), Feed: by}))...)
			if len(rows.Takes) != 1 || rows.Takes[0].Kind != test.want {
				t.Errorf("takes %+v, want kind %s", rows.Takes, test.want)
			}
		})
	}
}

// Whether a subscription that was there before the recording has intra-process communication is not known until a scan
// has found it: then what an own publisher with intra-process communication has sent may have been dropped, or polled.
func TestTakesOfAnOldSubscriptionAreNoGuess(t *testing.T) {
	layout, err := layouts.For("humble", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := subscriptionMemory{layout.Subscription}
	for name, test := range map[string]struct {
		gid  [2]uint64
		want trace.TakeKind
	}{
		"of an own publisher with intra-process communication": {ownGID, trace.TakeUnattributed},
		"of another process": {foreignGID, trace.TakeRMW},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(merge.Options{})
			for _, record := range append(intraProcessEntities()[:5], intraPublish(0x60)) {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Update(tracedProcess, func(p *merge.Process) error {
				p.Graph.SetMemory(memory, layout)
				p.Graph.Init(entities.InitEvent{Event: abi.EventCallbackGroupAddSubscription, Time: 10, Arguments: [6]uint64{0xf00, memoryHandle}})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			record := abi.TakeRecord{Header: header(abi.KindTake, 0, abi.FlagFedByTake), Feed: taken(memoryRMW, test.gid)}
			if err := m.Record(encode(record)); err != nil {
				t.Fatal(err)
			}
			if err := m.Take(func(r *trace.Batch) error {
				if len(r.Takes) != 1 || r.Takes[0].Kind != test.want || r.Takes[0].TopicName != "/topic" {
					t.Errorf("takes %+v, want kind %s", r.Takes, test.want)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The addresses of the subscription of subscriptionMemory.
const (
	memoryHandle, memoryImpl, memoryRMW = 0x10000, 0x20000, 0x30000
	memoryIdentifier, memoryTopic       = 0x40000, 0x50000
)

// subscriptionMemory is that of a process with one rcl subscription, of /topic.
type subscriptionMemory struct{ layout layouts.Endpoint }

func (m subscriptionMemory) ReadAt(p []byte, address uint64) error {
	clear(p)
	words := map[uint64]uint64{
		memoryHandle + m.layout.Impl: memoryImpl, memoryImpl + m.layout.RMWHandle: memoryRMW, memoryImpl + m.layout.Depth: 10,
		memoryRMW: memoryIdentifier, memoryRMW + 16: memoryTopic,
	}
	texts := map[uint64]string{memoryIdentifier: "rmw_fastrtps_cpp", memoryTopic: "/topic"}
	if word, ok := words[address]; ok && len(p) == 8 {
		binary.LittleEndian.PutUint64(p, word)
		return nil
	}
	if text, ok := texts[address]; ok {
		copy(p, text)
		return nil
	}
	return errors.New("not mapped")
}

func (m subscriptionMemory) ReadOnlyFile(address uint64) bool { return address == memoryIdentifier }

// A request feeds the callback that follows it only if that is known to be the service's: what an action's server takes
// feeds none.
func TestRequestsFeedTheirOwnCallback(t *testing.T) {
	for name, test := range map[string]struct {
		service, callback uint64
		want              trace.Address
		kind              trace.CallbackKind
	}{
		"its own":               {0x90, serviceCallback, serviceCallback, trace.KindService},
		"of another service":    {0x95, serviceCallback, 0, trace.KindService},
		"a timer's":             {0x90, timerCallback, 0, trace.KindTimer},
		"the owner is unknown":  {0x90, foreign, 0, ""},
		"neither one is known":  {0x95, foreign, 0, ""},
		"a subscription's, too": {0x90, interCallback, 0, trace.KindSubscription},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(merge.Options{})
			request := abi.ServiceRecord{
				Header: header(abi.KindService, abi.ServiceRequestTaken, abi.FlagFedCallback), TimeNs: 90, Handle: test.service, Sequence: 5,
				Callback: test.callback, CallbackStartNs: 100,
			}
			for _, record := range append(intraProcessEntities(), encode(request), started(test.callback, abi.FlagFedByRequest, abi.Feed{})) {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Take(func(r *trace.Batch) error {
				if len(r.Services) != 1 || r.Services[0].Callback != test.want || r.Services[0].CallbackStartTimestamp.Valid != (test.want != 0) ||
					len(r.Callbacks) != 1 || r.Callbacks[0].Kind != test.kind {
					t.Errorf("services %+v, callbacks %+v", r.Services, r.Callbacks)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
