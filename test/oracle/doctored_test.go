package oracle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// sampleOffset is what the sample's dataset is ahead of its ground truth.
const sampleOffset = 1_000_000

// sample is a small ground truth with everything in it, and the recording that says exactly the same: a subscription's
// callback that publishes both ways and runs a timer's callback, which polls; an intra-process callback that an
// exception leaves; a service call, and the take of a response that is not there.
func sample(t *testing.T) (*Truth, *Dataset) {
	t.Helper()
	client, writer := strings.Repeat("c1", 16), strings.Repeat("d2", 16)
	parsed, err := groundtruth.Parse(strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(`header pid=7 distro=jazzy rmw=rmw_fastrtps_cpp version=1
node node=0x10 rmw_node=0x11 name=node namespace=/ time=1
publisher publisher=0x20 node=0x10 rmw_publisher=0x21 topic=/out depth=1 time=1
timer timer=0x30 node=0x10 period=500 callback=0x31 time=1
subscription subscription=0x40 node=0x10 rmw_subscription=0x41 topic=/in depth=1 object=0x42 callback=0x43 intra_object=0x44 intra_callback=0x45 buffer=0x46 time=1
service service=0x60 node=0x10 name=/add callback=0x61 time=1
client client=0x50 node=0x10 name=/add time=1
service_step tid=8 step=send_request client=0x50 message=0xa0 client_gid=CLIENT sequence_number=3 source_timestamp=90 before=50 after=59
take tid=8 seq=3 rmw_subscription=0x41 message=0x91 source_timestamp=-5 header_stamp=44 info_gid=WRITER before=220 after=229 polled=1 callback=0x31 callback_start=200
callback tid=8 seq=2 callback=0x31 kind=timer before_start=200 after_start=209 before_end=280 after_end=289 left=289 depth=1 cpu=3 end_cpu=3 parent=0x43 parent_start=120 outcome=returned
intra_publish tid=8 publish_number=0 publisher=0x20 message=0x92 before=290 after=319
enqueue tid=8 buffer=0x46 index=1 size=1 overwritten=1 before=310 after=319 publish_number=0 message=0x92
publish tid=8 seq=4 publish_number=0 publisher=0x20 rmw_publisher=0x21 message=0x93 intra_message=0x92 topic=/out layers=intra,rclcpp,rcl,rmw,stamp before_intra=300 after_intra=309 before_rclcpp=320 after_rclcpp=329 before_rcl=330 after_rcl=339 before_rmw=340 after_rmw=349 before_stamp=350 after_stamp=359 source_timestamp=77 header_stamp=45 enqueues=1 depth=1 callback=0x43 callback_start=120
callback tid=8 seq=1 callback=0x43 kind=subscription before_start=120 after_start=129 before_end=400 after_end=409 left=409 depth=0 cpu=2 end_cpu=3 outcome=returned message=0x90 source_timestamp=66 header_stamp=43 info_gid=WRITER subscription=0x41 take_before=100 take_after=109
dequeue tid=8 buffer=0x46 index=1 size=0 before=500 after=509 message=0x92
callback tid=8 seq=5 callback=0x45 kind=intra_subscription before_start=520 after_start=529 left=540 depth=0 cpu=3 end_cpu=3 outcome=threw message=0x92 buffer=0x46 index=1 size=0 dequeue_before=500 dequeue_after=509
publish tid=8 seq=6 publish_number=1 publisher=0x20 rmw_publisher=0x21 message=0x94 topic=/out layers=rclcpp before_rclcpp=600 after_rclcpp=609 enqueues=0 depth=0
take tid=8 seq=7 rmw_subscription=0x41 message=0x95 source_timestamp=67 header_stamp=46 info_gid=WRITER before=700 after=709 polled=1
callback tid=8 seq=8 callback=0x31 kind=timer before_start=800 after_start=809 before_end=880 after_end=889 left=889 depth=0 cpu=3 end_cpu=2 outcome=returned
service_step tid=8 step=take_request service=0x60 message=0xa1 taken=1 client_gid=CLIENT sequence_number=3 source_timestamp=90 before=1010 after=1019
callback tid=8 seq=9 callback=0x61 kind=service before_start=1020 after_start=1029 before_end=1080 after_end=1089 left=1089 depth=0 cpu=2 end_cpu=2 outcome=returned client_gid=CLIENT sequence_number=3
service_step tid=8 step=send_response service=0x60 message=0xa2 client_gid=CLIENT sequence_number=3 source_timestamp=91 before=1030 after=1039 callback=0x61 callback_start=1020
service_step tid=8 step=take_response client=0x50 message=0xa3 taken=1 client_gid=CLIENT sequence_number=3 source_timestamp=91 before=1100 after=1109
service_step tid=8 step=take_response client=0x50 message=0xa4 taken=0 before=1200 after=1209
`, " ", "\t"), "CLIENT", client), "WRITER", writer)))
	if err != nil {
		t.Fatal(err)
	}
	at := func(time int64) trace.Optional[int64] { return trace.Some(time + sampleOffset) }
	number, cpu := trace.Some[uint64], trace.Some[int32]
	key := trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: 1}
	session := trace.NewSession()
	session.Clock.RealtimeOffset = sampleOffset
	return NewTruth(t, parsed), &Dataset{
		Session: session,
		Batch: trace.Batch{
			Callbacks: []trace.Callback{
				{
					ProcessKey: key, TID: 8, CPU: 3, Provenance: trace.FromTracepoint, Callback: 0x31, CallbackStartTimestamp: at(205), CallbackEndTimestamp: at(285), EndCPU: cpu(3), Status: trace.CallbackComplete,
					Depth: 1, IsIntraProcess: trace.Some(false), Kind: trace.KindTimer, ParentCallback: 0x43, ParentCallbackStartTimestamp: at(125),
					NodeName: "/node", Period: trace.Some(int64(500)),
				}, {
					ProcessKey: key, TID: 8, CPU: 2, Provenance: trace.FromTracepoint, Callback: 0x43, CallbackStartTimestamp: at(125), CallbackEndTimestamp: at(405), EndCPU: cpu(3), Status: trace.CallbackComplete,
					IsIntraProcess: trace.Some(false), Kind: trace.KindSubscription, Message: 0x90, SourceTimestamp: trace.Some(int64(66)),
					RMWSubscriptionHandle: 0x41, RMWTakeTimestamp: at(105), SubscriptionHandle: 0x40, TopicName: "/in", NodeName: "/node",
					PublisherGID: writer, MessageTimestamp: trace.Some(int64(43)),
				}, {
					ProcessKey: key, TID: 8, CPU: 3, Provenance: trace.FromTracepoint, Callback: 0x45, CallbackStartTimestamp: at(525), Status: trace.CallbackUnwound,
					IsIntraProcess: trace.Some(true), Kind: trace.KindIntraProcessSubscription, Buffer: 0x46, DequeueIndex: number(1),
					DequeueSize: number(0), DequeueTimestamp: at(505), SubscriptionHandle: 0x40, TopicName: "/in", NodeName: "/node",
				}, {
					ProcessKey: key, TID: 8, CPU: 3, Provenance: trace.FromTracepoint, Callback: 0x31, CallbackStartTimestamp: at(805), CallbackEndTimestamp: at(885), EndCPU: cpu(2), Status: trace.CallbackComplete,
					IsIntraProcess: trace.Some(false), Kind: trace.KindTimer, NodeName: "/node", Period: trace.Some(int64(500)),
				}, {
					ProcessKey: key, TID: 8, CPU: 2, Provenance: trace.FromTracepoint, Callback: 0x61, CallbackStartTimestamp: at(1025), CallbackEndTimestamp: at(1085), EndCPU: cpu(2),
					Status: trace.CallbackComplete, IsIntraProcess: trace.Some(false), Kind: trace.KindService, TopicName: "/add", NodeName: "/node",
				},
			},
			Publishes: []trace.Publish{
				{
					ProcessKey: key, TID: 8, Provenance: trace.FromTracepoint, PublishNumber: 0, PublisherHandle: 0x20, RMWPublisherHandle: 0x21, Message: 0x93, IntraMessage: 0x92,
					RclcppIntraPublishTimestamp: at(305), RclcppPublishTimestamp: at(325), RclPublishTimestamp: at(335), RMWPublishTimestamp: at(345),
					SourceTimestamp: trace.Some(int64(77)), DDSBindAddrToStampTimestamp: at(345), Status: trace.PublishComplete, EnqueueCount: 1,
					Callback: 0x43, CallbackStartTimestamp: at(125), Depth: 1, TopicName: "/out", NodeName: "/node",
					Kind: trace.PublishMessage, MessageTimestamp: trace.Some(int64(45)),
				}, {
					ProcessKey: key, TID: 8, Provenance: trace.FromTracepoint, PublishNumber: 1, Message: 0x94, RclcppPublishTimestamp: at(605), Status: trace.PublishNoLastLayer,
				},
			},
			Takes: []trace.Take{
				{
					ProcessKey: key, TID: 8, Provenance: trace.FromTracepoint, Kind: trace.TakeRMW, RMWSubscriptionHandle: 0x41, Message: 0x91, SourceTimestamp: trace.Some(int64(-5)),
					RMWTakeTimestamp: at(225), Callback: 0x31, CallbackStartTimestamp: at(205), SubscriptionHandle: 0x40, TopicName: "/in", NodeName: "/node",
					PublisherGID: writer, MessageTimestamp: trace.Some(int64(44)),
				}, {
					ProcessKey: key, TID: 8, Provenance: trace.FromTracepoint, Kind: trace.TakeRMW, RMWSubscriptionHandle: 0x41, Message: 0x95, SourceTimestamp: trace.Some(int64(67)),
					RMWTakeTimestamp: at(705), SubscriptionHandle: 0x40, TopicName: "/in", NodeName: "/node",
					PublisherGID: writer, MessageTimestamp: trace.Some(int64(46)),
				},
			},
			Enqueues: []trace.Enqueue{{
				ProcessKey: key, TID: 8, Buffer: 0x46, Index: number(1), Size: 0, Overwritten: trace.Some(true), EnqueueTimestamp: 315 + sampleOffset, PublishNumber: number(0),
				Callback: 0x43, CallbackStartTimestamp: at(125), PublisherHandle: 0x20, TopicName: "/out", Provenance: trace.FromTracepoint,
			}},
			Services: []trace.Service{
				{
					ProcessKey: key, TID: 8, Step: trace.RequestSent, StepTimestamp: 55 + sampleOffset, ClientHandle: 0x50, Message: 0xa0,
					ClientGID: client, SequenceNumber: 3, ServiceName: "/add", NodeName: "/node", Provenance: trace.FromSymbol,
				}, {
					ProcessKey: key, TID: 8, Step: trace.RequestTaken, StepTimestamp: 1015 + sampleOffset, ServiceHandle: 0x60, Message: 0xa1,
					ClientGID: client, SequenceNumber: 3, SourceTimestamp: trace.Some(int64(90)), Callback: 0x61, CallbackStartTimestamp: at(1025),
					ServiceName: "/add", NodeName: "/node", Provenance: trace.FromSymbol,
				}, {
					ProcessKey: key, TID: 8, Step: trace.ResponseSent, StepTimestamp: 1035 + sampleOffset, ServiceHandle: 0x60, Message: 0xa2,
					ClientGID: client, SequenceNumber: 3, Callback: 0x61, CallbackStartTimestamp: at(1025),
					ServiceName: "/add", NodeName: "/node", Provenance: trace.FromSymbol,
				}, {
					ProcessKey: key, TID: 8, Step: trace.ResponseTaken, StepTimestamp: 1105 + sampleOffset, ClientHandle: 0x50, Message: 0xa3,
					ClientGID: client, SequenceNumber: 3, SourceTimestamp: trace.Some(int64(91)), ServiceName: "/add", NodeName: "/node",
					Provenance: trace.FromSymbol,
				},
			},
		},
	}
}

// wholeSpan is around all of the sample.
var wholeSpan = Span{OpenFrom: 10, OpenTo: 10, CloseFrom: 2000, CloseTo: 2000}

// whole is what holds of the sample: a scan has told its entities.
var whole = Circumstances{Found: true}

// verdict says what a comparison found; empty if nothing.
func verdict(c *Comparison) string {
	text := strings.Join(c.Differences, "\n")
	if len(c.Missing) > 0 {
		text += fmt.Sprint("missing ", c.Missing, c.Examples)
	}
	return text
}

func TestComparisonAcceptsTheTruth(t *testing.T) {
	truth, data := sample(t)
	result := compare(truth, data, wholeSpan, whole)
	if text := verdict(result); text != "" {
		t.Error(text)
	}
	want := map[trace.LossKind]uint64{
		trace.LostCallback: 5, trace.LostPublish: 2, trace.LostTake: 2, trace.LostEnqueue: 1, trace.LostService: 4,
	}
	if !reflect.DeepEqual(result.Compared, want) {
		t.Errorf("compared %v, not %v", result.Compared, want)
	}
}

// tablesOfEvents are the tables that the comparison is about.
var tablesOfEvents = []string{"Callbacks", "Publishes", "Takes", "Enqueues", "Services"}

// TestComparisonSeesEveryColumn changes each column of each row in turn.
func TestComparisonSeesEveryColumn(t *testing.T) {
	// The ground truth does not know these. TestOverheadIsHitsTimesCost is about the overhead.
	unknown := []string{"ProcessKey", "CPU of Publishes", "CPU of Takes", "CPU of Enqueues", "CPU of Services", "Symbol", "Overhead"}
	_, data := sample(t)
	for _, table := range tablesOfEvents {
		rows := reflect.ValueOf(data).Elem().FieldByName(table)
		for i := range rows.Len() {
			for f := range rows.Index(i).NumField() {
				field := rows.Type().Elem().Field(f).Name
				if slices.Contains(unknown, field) || slices.Contains(unknown, field+" of "+table) {
					continue
				}
				truth, doctored := sample(t)
				change(t, reflect.ValueOf(doctored).Elem().FieldByName(table).Index(i).Field(f))
				if verdict(compare(truth, doctored, wholeSpan, whole)) == "" {
					t.Errorf("row %d of %s: a wrong %s is not seen", i, table, field)
				}
			}
		}
	}
}

// change makes a value a different one.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1000)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1000)
	case reflect.Struct: // trace.Optional
		valid := v.FieldByName("Valid")
		if !valid.Bool() {
			valid.SetBool(true)
		}
		change(t, v.FieldByName("Value"))
	default:
		t.Fatalf("cannot change a %s", v.Kind())
	}
}

func TestComparisonSeesNulls(t *testing.T) {
	_, data := sample(t)
	for _, table := range tablesOfEvents {
		rows := reflect.ValueOf(data).Elem().FieldByName(table)
		for i := range rows.Len() {
			for f := range rows.Index(i).NumField() {
				truth, doctored := sample(t)
				value := reflect.ValueOf(doctored).Elem().FieldByName(table).Index(i).Field(f)
				if value.Kind() != reflect.Struct || !value.FieldByName("Valid").IsValid() || !value.FieldByName("Valid").Bool() {
					continue
				}
				value.SetZero()
				if verdict(compare(truth, doctored, wholeSpan, whole)) == "" {
					t.Errorf("row %d of %s: %s is null, which is not seen", i, table, rows.Type().Elem().Field(f).Name)
				}
			}
		}
	}
}

func TestComparisonCountsRows(t *testing.T) {
	for name, doctor := range map[string]func(*Dataset){
		"missing callback":     func(d *Dataset) { d.Callbacks = d.Callbacks[1:] },
		"missing publish":      func(d *Dataset) { d.Publishes = d.Publishes[:1] },
		"missing take":         func(d *Dataset) { d.Takes = d.Takes[:1] },
		"missing service step": func(d *Dataset) { d.Services = d.Services[1:] },
		"service step twice":   func(d *Dataset) { d.Services = append(d.Services, d.Services[3]) },
		"row of an empty take": func(d *Dataset) {
			empty := d.Services[3]
			empty.Message, empty.StepTimestamp = 0xa4, 1205+sampleOffset
			d.Services = append(d.Services, empty)
		},
		"service step out of order": func(d *Dataset) { d.Services[0], d.Services[3] = d.Services[3], d.Services[0] },
		"missing enqueue":           func(d *Dataset) { d.Enqueues = nil },
		"callback twice":            func(d *Dataset) { d.Callbacks = append(d.Callbacks, d.Callbacks[3]) },
		"publish twice":             func(d *Dataset) { d.Publishes = append(d.Publishes, d.Publishes[1]) },
		"take twice":                func(d *Dataset) { d.Takes = append(d.Takes, d.Takes[1]) },
		"enqueue twice":             func(d *Dataset) { d.Enqueues = append(d.Enqueues, d.Enqueues[0]) },
		"callback out of order":     func(d *Dataset) { d.Callbacks[0], d.Callbacks[1] = d.Callbacks[1], d.Callbacks[0] },
		"publish out of order":      func(d *Dataset) { d.Publishes[0], d.Publishes[1] = d.Publishes[1], d.Publishes[0] },
		"take out of order":         func(d *Dataset) { d.Takes[0], d.Takes[1] = d.Takes[1], d.Takes[0] },
		"publish split in two": func(d *Dataset) {
			first, second := d.Publishes[0], d.Publishes[0]
			first.RMWPublishTimestamp, first.DDSBindAddrToStampTimestamp, first.SourceTimestamp = trace.Optional[int64]{}, trace.Optional[int64]{}, trace.Optional[int64]{}
			second.RclcppIntraPublishTimestamp, second.RclcppPublishTimestamp, second.RclPublishTimestamp = trace.Optional[int64]{}, trace.Optional[int64]{}, trace.Optional[int64]{}
			d.Publishes = []trace.Publish{first, second, d.Publishes[1]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			truth, data := sample(t)
			doctor(data)
			if verdict(compare(truth, data, wholeSpan, whole)) == "" {
				t.Error("the difference is not seen")
			}
		})
	}
}

// TestComparisonAtTheEdges moves the ends of the recording through the sample.
func TestComparisonAtTheEdges(t *testing.T) {
	from := func(at uint64) Span { return Span{OpenFrom: at, OpenTo: at, CloseFrom: 2000, CloseTo: 2000} }
	until := func(at uint64) Span { return Span{OpenFrom: 10, OpenTo: 10, CloseFrom: at, CloseTo: at} }
	null := trace.Optional[int64]{}
	for name, test := range map[string]struct {
		span   Span
		doctor func(*Dataset)
		wrong  bool
	}{
		"nothing of a callback is recorded before the start": {from(190), nil, true},
		"a callback whose end only is recorded": {from(190), func(d *Dataset) {
			c := &d.Callbacks[1]
			*c = trace.Callback{
				ProcessKey: c.ProcessKey, TID: 8, CPU: 3, Callback: 0x43, CallbackEndTimestamp: c.CallbackEndTimestamp, EndCPU: c.EndCPU, Status: trace.CallbackStartMissing,
				Kind: c.Kind, SubscriptionHandle: 0x40, TopicName: "/in", NodeName: "/node", Provenance: trace.FromTracepoint,
			}
			d.Callbacks[0].Depth, d.Callbacks[0].ParentCallback, d.Callbacks[0].ParentCallbackStartTimestamp = 0, 0, null
			d.Publishes[0].Depth, d.Publishes[0].Callback, d.Publishes[0].CallbackStartTimestamp = 0, 0, null
			d.Enqueues[0].Callback, d.Enqueues[0].CallbackStartTimestamp = 0, null
			d.Services = d.Services[1:]
		}, false},
		"a callback whose end alone is not recorded": {until(860), func(d *Dataset) {
			d.Callbacks[3].CallbackEndTimestamp, d.Callbacks[3].Status = null, trace.CallbackRecordingEnd
			d.Callbacks[3].EndCPU = trace.Optional[int32]{}
			d.Callbacks, d.Services = d.Callbacks[:4], d.Services[:1]
		}, false},
		"an end after the end":  {until(860), nil, true},
		"a row after the end":   {until(750), nil, true},
		"no row after the end":  {until(750), func(d *Dataset) { d.Callbacks, d.Services = d.Callbacks[:3], d.Services[:1] }, false},
		"a take before its end": {until(750), func(d *Dataset) { d.Callbacks, d.Services, d.Takes = d.Callbacks[:3], d.Services[:1], d.Takes[:1] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			truth, data := sample(t)
			if test.doctor != nil {
				test.doctor(data)
			}
			if text := verdict(compare(truth, data, test.span, whole)); (text != "") != test.wrong {
				t.Errorf("wrong: %t, found: %s", test.wrong, text)
			}
		})
	}
}

// TestComparisonWhereTheEndIsUncertain leaves rows out near the end of a recording of which only bounds are known.
func TestComparisonWhereTheEndIsUncertain(t *testing.T) {
	type counts = map[trace.LossKind]uint64
	without := func(callback int) func(*Dataset) {
		return func(d *Dataset) { d.Callbacks = slices.Delete(d.Callbacks, callback, callback+1) }
	}
	for name, test := range map[string]struct {
		doctor            func(*Dataset)
		known             Circumstances
		missing, doubtful counts
	}{
		"nothing":                               {func(*Dataset) {}, Circumstances{}, counts{}, counts{}},
		"the last thing that the thread did":    {without(3), Circumstances{}, counts{}, counts{trace.LostCallback: 1}},
		"something that the thread did before":  {without(2), Circumstances{}, counts{trace.LostCallback: 1}, counts{}},
		"something before, but tables are torn": {without(2), Circumstances{Torn: true}, counts{}, counts{trace.LostCallback: 1}},
		"the last of each table": {func(d *Dataset) {
			d.Callbacks, d.Publishes, d.Takes = d.Callbacks[:3], d.Publishes[:1], d.Takes[:1]
		}, Circumstances{}, counts{}, counts{trace.LostCallback: 1, trace.LostPublish: 1, trace.LostTake: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			truth, data := sample(t)
			data.Callbacks, data.Services = data.Callbacks[:4], data.Services[:1]
			test.doctor(data)
			result := compare(truth, data, Span{OpenFrom: 10, OpenTo: 10, CloseFrom: 10, CloseTo: 950}, test.known)
			if !maps.Equal(result.Missing, test.missing) || !maps.Equal(result.Doubtful, test.doubtful) {
				t.Errorf("missing %v, doubtful %v; not %v, %v; %v", result.Missing, result.Doubtful, test.missing, test.doubtful, result.Examples)
			}
		})
	}
}
