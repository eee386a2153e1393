package programs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// sampleOffset is what the sample's recording is ahead of its program's clock.
const sampleOffset = 5000

// sampleText is what a program wrote: a timer publishes and calls, a subscription gets the message and spins, which
// runs another timer; the message is polled, too; a service answers, another one defers; a life cycle goes on; and a
// callback throws.
const sampleText = `header pid=7
entity id=1 kind=node node=/n name= period=0 handle=0x10 before=1 after=2 ended=0
entity id=2 kind=timer node=/n name= period=50 handle=0x20 before=1 after=2 ended=0
entity id=3 kind=subscription node=/n name=/t period=0 handle=0x30 before=1 after=2 ended=0
entity id=4 kind=publisher node=/n name=/t period=0 handle=0x40 before=1 after=2 ended=0
entity id=5 kind=service node=/n name=/s period=0 handle=0x50 before=1 after=2 ended=0
entity id=6 kind=client node=/n name=/s period=0 handle=0x60 before=1 after=2 ended=0
entity id=7 kind=polled_subscription node=/n name=/t period=0 handle=0x70 before=1 after=2 ended=0
entity id=8 kind=timer node=/m name= period=80 handle=0x80 before=1 after=2 ended=0
entity id=9 kind=deferring_service node=/m name=/d period=0 handle=0x90 before=1 after=2 ended=0
entity id=10000 kind=generic_subscription node=/m name=/t period=0 handle=0xa0 before=1 after=2 ended=900
callback tid=8 entity=2 number=0 start=100 end=200 outcome=returned in=0 in_start=0
publish tid=8 entity=4 number=41 start=110 end=130 outcome=returned in=2 in_start=100
request tid=8 entity=6 number=61 start=140 end=150 outcome=returned in=2 in_start=100
callback tid=8 entity=3 number=41 start=300 end=400 outcome=returned in=0 in_start=0
callback tid=8 entity=8 number=0 start=320 end=340 outcome=threw in=3 in_start=300
take tid=8 entity=7 number=41 start=350 end=360 outcome=returned in=3 in_start=300
callback tid=8 entity=5 number=61 start=500 end=510 outcome=returned in=0 in_start=0
callback tid=8 entity=9 number=91 start=600 end=610 outcome=returned in=0 in_start=0
response tid=9 entity=9 number=91 start=620 end=630 outcome=returned in=0 in_start=0
callback tid=8 entity=10000 number=41 start=700 end=710 outcome=returned in=0 in_start=0
untraced tid=8 entity=77 number=0 start=720 end=730 outcome=returned in=0 in_start=0
transition tid=9 entity=1 number=0 start=740 end=750 outcome=returned in=0 in_start=0
callback tid=8 entity=2 number=0 start=800 end=810 outcome=returned in=0 in_start=0
end
`

func sampleTruth(t *testing.T, text string) *Truth {
	t.Helper()
	truth, err := ParseTruth(strings.NewReader(strings.ReplaceAll(text, " ", "\t")))
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// sample returns a truth and a recording that tells it.
func sample(t *testing.T) (*Truth, *Recording) {
	t.Helper()
	at := func(time int64) trace.Optional[int64] { return trace.Some(time + sampleOffset) }
	key := trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: 1}
	inter := trace.Some(false)
	info := func(callback, owner trace.Address, kind trace.CallbackKind, node string) trace.CallbackInfo {
		return trace.CallbackInfo{ProcessKey: key, Callback: callback, OwnerHandle: owner, Kind: kind, NodeName: node, InitTimestamp: at(1)}
	}
	r := &Recording{
		Span: Span{0, 0, 1000, 1000}, Offset: sampleOffset,
		Callbacks: []trace.Callback{
			{ProcessKey: key, TID: 8, Callback: 0x21, CallbackStartTimestamp: at(95), CallbackEndTimestamp: at(205), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindTimer, NodeName: "/n", Period: trace.Some(int64(50)), Symbol: "entity2_make()"},
			{ProcessKey: key, TID: 8, Callback: 0x81, CallbackStartTimestamp: at(315), Status: trace.CallbackUnwound, IsIntraProcess: inter, Kind: trace.KindTimer, NodeName: "/m", Period: trace.Some(int64(80)), Depth: 1, ParentCallback: 0x31, ParentCallbackStartTimestamp: at(295)},
			{ProcessKey: key, TID: 8, Callback: 0x31, CallbackStartTimestamp: at(295), CallbackEndTimestamp: at(405), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindSubscription, NodeName: "/n", TopicName: "/t", SubscriptionHandle: 0x30},
			{ProcessKey: key, TID: 8, Callback: 0x51, CallbackStartTimestamp: at(495), CallbackEndTimestamp: at(515), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindService, NodeName: "/n", TopicName: "/s"},
			{ProcessKey: key, TID: 8, Callback: 0x91, CallbackStartTimestamp: at(595), CallbackEndTimestamp: at(615), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindService, NodeName: "/m", TopicName: "/d", Provenance: trace.Derived},
			{ProcessKey: key, TID: 8, Callback: 0xa1, CallbackStartTimestamp: at(695), CallbackEndTimestamp: at(715), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindSubscription, NodeName: "/m", TopicName: "/t", SubscriptionHandle: 0xa0, Symbol: "entity10_Functor"},
			{ProcessKey: key, TID: 8, Callback: 0x21, CallbackStartTimestamp: at(795), CallbackEndTimestamp: at(815), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindTimer, NodeName: "/n", Period: trace.Some(int64(50))},
			{ProcessKey: key, TID: 8, Callback: 0xb1, CallbackStartTimestamp: at(850), CallbackEndTimestamp: at(860), Status: trace.CallbackComplete, IsIntraProcess: inter, Kind: trace.KindSubscription, NodeName: "/m", TopicName: "/parameter_events", SubscriptionHandle: 0xb0},
		},
		CallbackInfos: []trace.CallbackInfo{
			info(0x21, 0x20, trace.KindTimer, "/n"), info(0x31, 0x30, trace.KindSubscription, "/n"), info(0x51, 0x50, trace.KindService, "/n"),
			info(0x81, 0x80, trace.KindTimer, "/m"), info(0x91, 0x90, trace.KindService, "/m"), info(0xa1, 0xa0, trace.KindSubscription, "/m"),
		},
		Publishes: []trace.Publish{
			{ProcessKey: key, TID: 8, PublisherHandle: 0x40, RclcppPublishTimestamp: at(112), RclPublishTimestamp: at(115), DDSBindAddrToStampTimestamp: at(118), Status: trace.PublishComplete, Callback: 0x21, CallbackStartTimestamp: at(95), NodeName: "/n", TopicName: "/t"},
			{ProcessKey: key, TID: 9, RclPublishTimestamp: at(745), Status: trace.PublishComplete, NodeName: "/n", TopicName: "/n/transition_event"},
		},
		Takes: []trace.Take{
			{ProcessKey: key, TID: 8, Kind: trace.TakeRMW, RMWTakeTimestamp: at(355), SubscriptionHandle: 0x70, Callback: 0x31, CallbackStartTimestamp: at(295), NodeName: "/n", TopicName: "/t"},
			{ProcessKey: key, TID: 8, Kind: trace.TakeIgnored, RMWTakeTimestamp: at(780), SubscriptionHandle: 0x30, NodeName: "/n", TopicName: "/t"},
		},
		Services: []trace.Service{
			{ProcessKey: key, TID: 8, Step: trace.RequestSent, StepTimestamp: 145 + sampleOffset, ClientHandle: 0x60, ClientGID: "c", SequenceNumber: 1, Callback: 0x21, CallbackStartTimestamp: at(95), ServiceName: "/s", NodeName: "/n"},
			{ProcessKey: key, TID: 8, Step: trace.RequestTaken, StepTimestamp: 490 + sampleOffset, ServiceHandle: 0x50, ClientGID: "c", SequenceNumber: 1, Callback: 0x51, CallbackStartTimestamp: at(495), ServiceName: "/s", NodeName: "/n"},
			{ProcessKey: key, TID: 8, Step: trace.ResponseSent, StepTimestamp: 520 + sampleOffset, ServiceHandle: 0x50, ClientGID: "c", SequenceNumber: 1, ServiceName: "/s", NodeName: "/n"},
			{ProcessKey: key, TID: 8, Step: trace.ResponseTaken, StepTimestamp: 540 + sampleOffset, ClientHandle: 0x60, ClientGID: "c", SequenceNumber: 1, ServiceName: "/s", NodeName: "/n"},
			{ProcessKey: key, TID: 8, Step: trace.RequestTaken, StepTimestamp: 590 + sampleOffset, ServiceHandle: 0x90, ClientGID: "e", SequenceNumber: 1, Callback: 0x91, CallbackStartTimestamp: at(595), ServiceName: "/d", NodeName: "/m"},
			{ProcessKey: key, TID: 9, Step: trace.ResponseSent, StepTimestamp: 625 + sampleOffset, ServiceHandle: 0x90, ClientGID: "e", SequenceNumber: 1, ServiceName: "/d", NodeName: "/m"},
		},
		Lifecycles: []trace.Lifecycle{
			{ProcessKey: key, TID: 9, TransitionTimestamp: 742 + sampleOffset, NodeName: "/n"}, {ProcessKey: key, TID: 9, TransitionTimestamp: 748 + sampleOffset, NodeName: "/n"},
		},
	}
	passage := func(node string, start, take trace.Optional[int64]) analyze.CommunicationInstance {
		i := analyze.CommunicationInstance{Fate: analyze.Received, RclcppPublish: at(112), Take: take, CallbackStartTimestamp: start}
		i.Topic, i.PublisherNode, i.SubscriptionNode, i.Transport = "/t", "/n", node, analyze.InterProcess
		return i
	}
	none := trace.Optional[int64]{}
	r.Passages = []analyze.CommunicationInstance{passage("/n", at(295), at(290)), passage("/n", none, at(355)), passage("/m", at(695), at(690))}
	return sampleTruth(t, sampleText), r
}

func verdict(f *Findings) string {
	return strings.Join(slices.Concat(f.Wrong, f.Missing, f.Unknown), "\n")
}

func TestComparerAcceptsTheTruth(t *testing.T) {
	f := Compare(sample(t))
	if text := verdict(f); text != "" {
		t.Error(text)
	}
	want := map[string]int{
		"callbacks": 7, "internal callbacks": 1, "publishes": 1, "takes": 1, "ignored takes": 1, "service steps": 3, "requests taken": 2,
		"requests joined": 1, "responses taken": 1, "transitions": 1, "messages, inter_process": 3,
	}
	if !maps.Equal(f.Compared, want) {
		t.Errorf("compared %v, not %v", f.Compared, want)
	}
}

// comparedFields are the columns of each table that the program can say something about.
var comparedFields = map[string][]string{
	"Callbacks": {"TID", "Callback", "CallbackStartTimestamp", "CallbackEndTimestamp", "Status", "Depth", "IsIntraProcess", "Kind", "ParentCallback",
		"ParentCallbackStartTimestamp", "SubscriptionHandle", "TopicName", "NodeName", "Period"},
	"CallbackInfos": {"Callback", "OwnerHandle"},
	"Publishes": {"TID", "PublisherHandle", "RclcppPublishTimestamp", "DDSBindAddrToStampTimestamp", "Status", "Callback", "CallbackStartTimestamp",
		"TopicName", "NodeName"},
	"Takes":      {"TID", "Kind", "RMWTakeTimestamp", "SubscriptionHandle", "Callback", "CallbackStartTimestamp", "TopicName", "NodeName"},
	"Services":   {"TID", "Step", "StepTimestamp", "Callback", "CallbackStartTimestamp", "ServiceName", "NodeName"},
	"Lifecycles": {"TID", "TransitionTimestamp", "NodeName"},
	"Passages":   {"CallbackStartTimestamp"},
}

// unseen are changes that leave a row true as far as the program can know: of rows of rclcpp's own, and of the other
// process's client.
var unseen = map[string]bool{
	"Callbacks 7 TID": true, "Callbacks 7 Callback": true, "Callbacks 7 CallbackStartTimestamp": true, "Callbacks 7 CallbackEndTimestamp": true,
	"Callbacks 7 Status": true, "Callbacks 7 Depth": true, "Callbacks 7 IsIntraProcess": true, "Callbacks 7 Kind": true,
	"Callbacks 7 ParentCallback": true, "Callbacks 7 ParentCallbackStartTimestamp": true, "Callbacks 7 SubscriptionHandle": true,
	"Callbacks 7 Period": true,
	// Of one of two publishes by rclcpp itself nothing is known.
	"Publishes 1 TID": true, "Publishes 1 PublisherHandle": true, "Publishes 1 RclcppPublishTimestamp": true,
	"Publishes 1 DDSBindAddrToStampTimestamp": true, "Publishes 1 Status": true, "Publishes 1 Callback": true,
	"Publishes 1 CallbackStartTimestamp": true, "Publishes 1 TopicName": true, "Publishes 1 NodeName": true,
	// What rclcpp drops, and when a client takes a response, is not known to the program.
	"Takes 1 TID": true, "Takes 1 RMWTakeTimestamp": true, "Takes 1 SubscriptionHandle": true, "Takes 1 Callback": true,
	"Takes 1 CallbackStartTimestamp": true, "Takes 1 TopicName": true, "Takes 1 NodeName": true,
	"Services 3 TID": true, "Services 3 StepTimestamp": true, "Services 3 Callback": true, "Services 3 CallbackStartTimestamp": true,
	// The polled message of this passage is found by the take.
	"Passages 1 CallbackStartTimestamp": false,
}

// TestComparerSeesEveryColumn changes each value of each row in turn.
func TestComparerSeesEveryColumn(t *testing.T) {
	for table, fields := range comparedFields {
		_, whole := sample(t)
		for i := range reflect.ValueOf(whole).Elem().FieldByName(table).Len() {
			for _, field := range fields {
				truth, doctored := sample(t)
				changeValue(t, reflect.ValueOf(doctored).Elem().FieldByName(table).Index(i).FieldByName(field))
				name := fmt.Sprint(table, " ", i, " ", field)
				if seen := verdict(Compare(truth, doctored)) != ""; seen == unseen[name] {
					t.Errorf("%s: seen %t", name, seen)
				}
			}
		}
	}
}

// changeValue makes a value a different one.
func changeValue(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1000)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1000)
	case reflect.Struct: // trace.Optional
		v.FieldByName("Valid").SetBool(true)
		changeValue(t, v.FieldByName("Value"))
	default:
		t.Fatalf("cannot change a %s", v.Kind())
	}
}

// TestComparerSeesEveryLie doctors the recording or the truth in ways that a recorder may be wrong in.
func TestComparerSeesEveryLie(t *testing.T) {
	at := func(time int64) trace.Optional[int64] { return trace.Some(time + sampleOffset) }
	null := trace.Optional[int64]{}
	for name, test := range map[string]struct {
		doctor func(*Recording)
		want   string // part of what is found
	}{
		"a callback without a row":            {func(r *Recording) { r.Callbacks = r.Callbacks[1:] }, "callback of entity 2"},
		"a callback with two rows":            {func(r *Recording) { r.Callbacks = append(r.Callbacks, r.Callbacks[2]) }, "did not run then"},
		"an owner that is another":            {func(r *Recording) { r.Callbacks[0].NodeName = "/m" }, "node is /m, not /n"},
		"an owner that is unknown":            {func(r *Recording) { r.Callbacks[0].NodeName = "" }, "node is unknown"},
		"a timer that says another's period":  {func(r *Recording) { r.Callbacks[0].Period.Value = 80 }, "period is {80 true}"},
		"a subscription of the same topic":    {func(r *Recording) { r.Callbacks[2].SubscriptionHandle = 0x70 }, "subscription is"},
		"a timer said to be a subscription's": {func(r *Recording) { r.Callbacks[0].Kind, r.Callbacks[0].TopicName = trace.KindSubscription, "/t" }, "topic is /t"},
		"a function of another":               {func(r *Recording) { r.Callbacks[0].Symbol = "entity3_make()::{lambda()#1}" }, "symbol is that of entity 3"},
		"a function of another that passes":   {func(r *Recording) { r.Callbacks[5].Symbol = "entity1_Functor" }, "symbol is that of entity 1"},
		"an address that changes":             {func(r *Recording) { r.Callbacks[6].Callback = 0x31 }, "it was"},
		"a table that says another owner": {func(r *Recording) {
			r.CallbackInfos = append(r.CallbackInfos, trace.CallbackInfo{ProcessKey: r.Callbacks[0].ProcessKey, Callback: 0x21, OwnerHandle: 0x80, InitTimestamp: at(50)})
		}, "callback_info says"},
		"an end before the end":       {func(r *Recording) { r.Callbacks[0].CallbackEndTimestamp = at(190) }, "callback of entity 2"},
		"an end in the next callback": {func(r *Recording) { r.Callbacks[0].CallbackEndTimestamp = at(301) }, "ended at"},
		"a start in the one before":   {func(r *Recording) { r.Callbacks[2].CallbackStartTimestamp = at(199) }, "when the one before was running"},
		"an exception that is not seen": {func(r *Recording) {
			r.Callbacks[1].Status, r.Callbacks[1].CallbackEndTimestamp = trace.CallbackComplete, at(345)
		}, "status is complete"},
		"an exception that did not happen": {func(r *Recording) {
			r.Callbacks[0].Status, r.Callbacks[0].CallbackEndTimestamp = trace.CallbackUnwound, null
		}, "status is unwound"},
		"an end of the recording too early": {func(r *Recording) {
			r.Callbacks[0].Status, r.Callbacks[0].CallbackEndTimestamp = trace.CallbackRecordingEnd, null
		}, "status is recording_end"},
		"a nested callback that is outermost": {func(r *Recording) {
			r.Callbacks[1].Depth, r.Callbacks[1].ParentCallback, r.Callbacks[1].ParentCallbackStartTimestamp = 0, 0, null
		}, "depth is 0"},
		"another callback around it": {func(r *Recording) { r.Callbacks[1].ParentCallback = 0x21 }, "happened in callback 0x21"},
		"an unknown callback in between": {func(r *Recording) {
			r.Callbacks = append(r.Callbacks, trace.Callback{ProcessKey: r.Callbacks[0].ProcessKey, TID: 8, Callback: 0xc1, CallbackStartTimestamp: at(250), CallbackEndTimestamp: at(260), Status: trace.CallbackComplete})
		}, "its owner is unknown"},
		"a publish without a row": {func(r *Recording) { r.Publishes = r.Publishes[1:] }, "publish of entity 4"},
		"a publish twice":         {func(r *Recording) { r.Publishes = append(r.Publishes, r.Publishes[0]) }, "has two rows"},
		"a publish that never happened": {func(r *Recording) {
			p := r.Publishes[0]
			p.RclcppPublishTimestamp, p.RclPublishTimestamp, p.DDSBindAddrToStampTimestamp = at(160), at(161), at(162)
			r.Publishes = append(r.Publishes, p)
		}, "did not publish then"},
		"a publish outside of callbacks": {func(r *Recording) { r.Publishes[0].Callback, r.Publishes[0].CallbackStartTimestamp = 0, null }, "which is unknown"},
		"a publish in another callback":  {func(r *Recording) { r.Publishes[0].Callback, r.Publishes[0].CallbackStartTimestamp = 0x31, at(295) }, "not in 0x21"},
		"a publish of half":              {func(r *Recording) { r.Publishes[0].Status = trace.PublishNoLastLayer }, "status is no_last_layer"},
		"a publisher that is unknown":    {func(r *Recording) { r.Publishes[0].PublisherHandle = 0 }, "publisher is unknown"},
		"a publish said to be open":      {func(r *Recording) { r.Publishes[0].Status = trace.PublishRecordingEnd }, "status is recording_end"},
		"a poll without a row":           {func(r *Recording) { r.Takes = r.Takes[1:] }, "take of entity 7"},
		"a poll that did not happen":     {func(r *Recording) { r.Takes[1].Kind = trace.TakeRMW }, "nobody polled then"},
		"a poll said to be ignored":      {func(r *Recording) { r.Takes[0].Kind = trace.TakeIgnored }, "is ignored"},
		"a take whose taker is unknown": {func(r *Recording) {
			r.Takes[1].Kind = trace.TakeUnattributed
			r.Takes[1].SourceTimestamp, r.Publishes[0].SourceTimestamp = trace.Some(int64(9)), trace.Some(int64(9))
		}, "it is not said who got"},
		"a request without a row":         {func(r *Recording) { r.Services = r.Services[1:] }, "request of entity 6"},
		"a request that fed nothing":      {func(r *Recording) { r.Services[1].Callback, r.Services[1].CallbackStartTimestamp = 0, null }, "request taken of entity 5"},
		"a request of another call":       {func(r *Recording) { r.Services[4].ClientGID = "c" }, "was joined with number 0x3d, it has 0x5b"},
		"a request that is not joined":    {func(r *Recording) { r.Services[1].SequenceNumber = 2 }, "not joined"},
		"a response without a row":        {func(r *Recording) { r.Services = slices.Delete(r.Services, 2, 3) }, "response of entity 5"},
		"a response in the callback":      {func(r *Recording) { r.Services[2].Callback, r.Services[2].CallbackStartTimestamp = 0x51, at(495) }, "is said to have happened in"},
		"a deferred response too early":   {func(r *Recording) { r.Services[5].StepTimestamp = 612 + sampleOffset }, "response of entity 9"},
		"a response that nobody took":     {func(r *Recording) { r.Services[3].ClientHandle = 0x70 }, "there is no client"},
		"a service that is unknown":       {func(r *Recording) { r.Services[3].ServiceName = "" }, "of which service is unknown"},
		"a transition without a row":      {func(r *Recording) { r.Lifecycles = r.Lifecycles[1:] }, "has 1 rows"},
		"a message that another received": {func(r *Recording) { r.Passages[0].CallbackStartTimestamp = at(795) }, "when it received nothing"},
		"a message of unknown fate":       {func(r *Recording) { r.Passages[0].Fate = analyze.Unknown }, "its fate"},
		"a message said to be lost":       {func(r *Recording) { r.Passages[0].Fate = analyze.Lost }, "not joined"},
	} {
		t.Run(name, func(t *testing.T) {
			truth, r := sample(t)
			test.doctor(r)
			if text := verdict(Compare(truth, r)); !strings.Contains(text, test.want) {
				t.Errorf("found %q, not %q", text, test.want)
			}
		})
	}
}

// TestComparerSeesOtherNumbers lets the program say that it received, or was asked, something else.
func TestComparerSeesOtherNumbers(t *testing.T) {
	for line, change := range map[string]string{
		"entity=3 number=41 start=300": "entity=3 number=42 start=300",
		"entity=5 number=61 start=500": "entity=5 number=62 start=500",
		"entity=7 number=41 start=350": "entity=7 number=43 start=350",
	} {
		_, r := sample(t)
		if text := verdict(Compare(sampleTruth(t, strings.Replace(sampleText, line, change, 1)), r)); !strings.Contains(text, "was joined with") {
			t.Errorf("%s: found %q", change, text)
		}
	}
}

// TestComparerAtTheEdges moves the ends of the recording. What may or may not have been recorded then is no finding;
// what must not be there, or must, is one.
func TestComparerAtTheEdges(t *testing.T) {
	null := trace.Optional[int64]{}
	for name, test := range map[string]struct {
		span   Span
		doctor func(*Recording)
		want   string
	}{
		"the first callback of a thread may have begun before the recording": {Span{90, 97, 1000, 1000}, func(r *Recording) {
			r.Callbacks = r.Callbacks[1:]
			r.Publishes[0].Callback, r.Publishes[0].CallbackStartTimestamp = 0, null
			r.Services[0].Callback, r.Services[0].CallbackStartTimestamp = 0, null
		}, ""},
		"the second one has not": {Span{90, 97, 1000, 1000}, func(r *Recording) { r.Callbacks = slices.Delete(r.Callbacks, 2, 3) }, "callback of entity 3"},
		"of a callback that began before, the end is recorded": {Span{150, 150, 1000, 1000}, func(r *Recording) {
			c := &r.Callbacks[0]
			c.Status, c.CallbackStartTimestamp, c.IsIntraProcess = trace.CallbackStartMissing, null, trace.Optional[bool]{}
			r.Publishes, r.Services, r.Passages = r.Publishes[1:], r.Services[1:], nil
		}, ""},
		"of two that began before, one within the other, only the end of the inner one is the first": {Span{320, 330, 1000, 1000}, func(r *Recording) {
			for _, i := range []int{1, 2} {
				c := &r.Callbacks[i]
				c.Status, c.CallbackStartTimestamp, c.IsIntraProcess = trace.CallbackStartMissing, null, trace.Optional[bool]{}
				c.ParentCallback, c.ParentCallbackStartTimestamp = 0, null
			}
			r.Callbacks[1].CallbackEndTimestamp = trace.Some(int64(345 + sampleOffset))
			r.Callbacks, r.Publishes, r.Services, r.Passages = r.Callbacks[1:], nil, r.Services[1:], nil
			r.Takes[0].Callback, r.Takes[0].CallbackStartTimestamp = 0, null
		}, ""},
		"of a callback at the end, the end may be missing": {Span{10, 10, 812, 820}, func(r *Recording) {
			r.Callbacks = r.Callbacks[:7]
			r.Callbacks[6].Status, r.Callbacks[6].CallbackEndTimestamp = trace.CallbackRecordingEnd, null
		}, ""},
		"its start may not": {Span{10, 10, 812, 820}, func(r *Recording) { r.Callbacks = r.Callbacks[:6] }, "callback of entity 2"},
		"what comes later is not recorded": {Span{10, 10, 720, 730}, func(r *Recording) {
			r.Callbacks, r.Takes, r.Publishes, r.Lifecycles = r.Callbacks[:6], r.Takes[:1], r.Publishes[:1], nil
		}, ""},
		"a response that may have come after the end": {Span{10, 10, 518, 518}, func(r *Recording) {
			r.Callbacks, r.Takes, r.Services, r.Lifecycles, r.Passages = r.Callbacks[:4], r.Takes[:1], r.Services[:2], nil, r.Passages[:2]
		}, ""},
		"a request at the end may have fed nothing yet": {Span{10, 10, 592, 592}, func(r *Recording) {
			r.Callbacks, r.Takes, r.Services, r.Publishes, r.Lifecycles, r.Passages = r.Callbacks[:4], r.Takes[:1], r.Services[:5], r.Publishes[:1], nil, r.Passages[:2]
			r.Services[4].Callback, r.Services[4].CallbackStartTimestamp = 0, null
		}, ""},
		"a request before the end may not": {Span{10, 10, 1000, 1000}, func(r *Recording) {
			r.Services[4].Callback, r.Services[4].CallbackStartTimestamp = 0, null
		}, "request taken of entity 9"},
		"a message that was published before": {Span{10, 10, 1000, 1000}, func(r *Recording) {
			r.Takes[1].Kind, r.Takes[1].SourceTimestamp = trace.TakeUnattributed, trace.Some(int64(9))
		}, ""},
		"a publish at the end may be open": {Span{10, 10, 132, 132}, func(r *Recording) {
			r.Callbacks, r.Takes, r.Services, r.Publishes, r.Lifecycles, r.Passages = r.Callbacks[:1], nil, nil, r.Publishes[:1], nil, nil
			r.Callbacks[0].Status, r.Callbacks[0].CallbackEndTimestamp = trace.CallbackRecordingEnd, null
			r.Publishes[0].Status = trace.PublishRecordingEnd
		}, ""},
		"of a publish that began before, only the last layers are recorded": {Span{105, 115, 1000, 1000}, func(r *Recording) {
			r.Publishes[0].PublisherHandle, r.Publishes[0].TopicName, r.Publishes[0].NodeName = 0, "", ""
		}, ""},
		"of one that began later, all are": {Span{10, 100, 1000, 1000}, func(r *Recording) {
			r.Publishes[0].PublisherHandle, r.Publishes[0].TopicName, r.Publishes[0].NodeName = 0, "", ""
		}, "topic is unknown"},
		"the first message of a thread may have been taken before": {Span{10, 290, 1000, 1000}, func(r *Recording) { r.Passages = r.Passages[1:] }, ""},
		"the second one was not":                                   {Span{10, 290, 1000, 1000}, func(r *Recording) { r.Passages = r.Passages[:2] }, "not joined"},
		"who gets a message that is published at the end may be unknown": {Span{10, 10, 125, 125}, func(r *Recording) {
			r.Callbacks, r.Takes, r.Services, r.Publishes, r.Lifecycles, r.Passages = r.Callbacks[:1], nil, nil, r.Publishes[:1], nil, r.Passages[:1]
			r.Callbacks[0].Status, r.Callbacks[0].CallbackEndTimestamp = trace.CallbackRecordingEnd, null
			r.Publishes[0].Status, r.Passages[0].Fate = trace.PublishRecordingEnd, analyze.Unknown
		}, ""},
		"a message may have been taken that fed nothing yet": {Span{10, 10, 1000, 1000}, func(r *Recording) {
			r.Takes[1].Kind, r.Takes[1].RMWTakeTimestamp = trace.TakeUnattributed, trace.Some(int64(900+sampleOffset))
			r.Takes[1].SourceTimestamp, r.Publishes[0].SourceTimestamp = trace.Some(int64(9)), trace.Some(int64(9))
			taken := r.Passages[1]
			taken.SubscriptionNode, taken.Take = r.Takes[1].NodeName, r.Takes[1].RMWTakeTimestamp
			r.Passages = append(r.Passages, taken)
		}, ""},
		"a take at the end may have fed nothing yet": {Span{10, 10, 1000, 1000}, func(r *Recording) {
			r.Takes[1].Kind, r.Takes[1].RMWTakeTimestamp = trace.TakeUnattributed, trace.Some(int64(900+sampleOffset))
			r.Takes[1].SourceTimestamp, r.Publishes[0].SourceTimestamp = trace.Some(int64(9)), trace.Some(int64(9))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			truth, r := sample(t)
			r.Span = test.span
			test.doctor(r)
			text := verdict(Compare(truth, r))
			if test.want == "" && text != "" || !strings.Contains(text, test.want) {
				t.Errorf("found %q, not %q", text, test.want)
			}
		})
	}
}

// TestTruthMustBeWhole: a program that did not come to its end proves nothing.
func TestTruthMustBeWhole(t *testing.T) {
	for name, text := range map[string]string{
		"no end":              strings.TrimSuffix(sampleText, "end\n"),
		"an unknown record":   "something tid=8\n" + sampleText,
		"a missing field":     strings.Replace(sampleText, " handle=0x20", "", 1),
		"a wrong number":      strings.Replace(sampleText, "handle=0x20", "handle=many", 1),
		"an unknown entity":   strings.Replace(sampleText, "take tid=8 entity=7", "take tid=8 entity=70", 1),
		"an unknown callback": strings.Replace(sampleText, "in=3 in_start=300", "in=3 in_start=301", 1),
	} {
		if _, err := ParseTruth(strings.NewReader(strings.ReplaceAll(text, " ", "\t"))); err == nil {
			t.Errorf("%s: is accepted", name)
		}
	}
}
