package analyze_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// communicationOf lists the instances as "publisher>subscription publish:latency fate joined_by" in the order of their
// publish.
func communicationOf(t *testing.T, q *analyze.Query) []string {
	t.Helper()
	var lines []string
	_, err := q.CommunicationLatency(t.Context(), func(instances []analyze.CommunicationInstance) error {
		for _, i := range instances {
			at := i.RclcppPublish
			if !at.Valid {
				at = i.RclcppIntraPublish
			}
			line := fmt.Sprintf("%04d %s>%s", at.Value, i.PublisherNode, i.SubscriptionNode)
			if i.Latency.Valid {
				line += fmt.Sprintf(" %d", i.Latency.Value)
			}
			lines = append(lines, strings.TrimSpace(line+" "+string(i.Fate)+" "+string(i.JoinedBy)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCommunicationByGID(t *testing.T) {
	s := newRecording(t)
	talker, other := s.node("/talker"), s.node("/other")
	s.key = processKey(200)
	listener := s.node("/listener")
	a, b := s.publisher(talker, "/chatter", "aa"), s.publisher(other, "/chatter", "bb")
	sub := s.subscription(listener, "/chatter")
	// Both publishers give their messages the same source timestamps.
	s.publishes(a, 100, 105, 0, 0)
	s.publishes(b, 101, 105, 0, 0)
	s.publishes(a, 200, 205, 0, 0)
	s.publishes(a, 300, 305, 0, 0)
	s.publishes(b, 400, 405, 0, 0)
	s.receives(sub, "bb", 105, 120, 125)
	s.receives(sub, "aa", 105, 130, 135)
	s.receives(sub, "aa", 305, 310, 315)
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})),
		"0100 /talker>/listener 30 received gid",
		"0101 /other>/listener 19 received gid",
		"0200 /talker>/listener lost",
		"0300 /talker>/listener 10 received gid",
		"0400 /other>/listener open",
	)
}

// A topic selects the rows of what has an entity, and of what only its rows name, as those of a dataset that was cut
// short.
func TestCommunicationOfATopic(t *testing.T) {
	s := newRecording(t)
	talker, listener := s.node("/talker"), s.node("/listener")
	wanted, sub := s.publisher(talker, "/chatter", "aa"), s.subscription(listener, "/chatter")
	other, otherSub := s.publisher(talker, "/other", "bb"), s.subscription(listener, "/other")
	s.publishes(wanted, 100, 105, 0, 0)
	s.receives(sub, "aa", 105, 120, 125)
	s.publishes(other, 200, 205, 0, 0)
	s.receives(otherSub, "bb", 205, 220, 225)
	for i, topic := range []string{"/chatter", "/other"} {
		at := int64(300 + 100*i)
		publisher, subscription := testPublisher{node: talker, handle: s.address()}, testSubscription{node: listener, handle: s.address(), callback: s.address(), topic: topic}
		s.publishes(publisher, at, at+5, 0, 0)
		s.rows.Publishes[len(s.rows.Publishes)-1].TopicName = topic
		s.receives(subscription, "", at+5, at+20, at+25)
		received := &s.rows.Callbacks[len(s.rows.Callbacks)-1]
		received.SubscriptionHandle, received.TopicName = subscription.handle, topic
		s.polls(subscription, "", at+5, at+30, 0, 0) // once more: it was received already
	}
	of := func(topic string) []string {
		return communicationOf(t, s.query(analyze.Filter{Topics: []*regexp.Regexp{regexp.MustCompile(topic)}}))
	}
	wantLines(t, of("/chat.*"), "0100 /talker> open", "0100 /talker>/listener 20 received gid", "0300 > 20 received topic", "0300 >/listener open")
	wantLines(t, of("/other"), "0200 /talker> open", "0200 /talker>/listener 20 received gid", "0400 > 20 received topic", "0400 >/listener open")
	wantLines(t, of("/none"))
}

// Cyclone DDS does not tell the publisher.
func TestCommunicationByTopic(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	pub := s.publisher(n, "/chatter", "aa")
	s.publisher(n, "/elsewhere", "bb")
	first, second := s.subscription(n, "/chatter"), s.subscription(s.node("/m"), "/chatter")
	s.publishes(pub, 100, 105, 0, 0)
	s.publishes(pub, 110, 105, 0, 0) // a coarse clock: the same timestamp again
	s.receives(first, "", 105, 120, 125)
	s.receives(first, "", 105, 130, 135)
	s.receives(first, "", 105, 140, 145) // a duplicate
	s.receives(second, "", 105, 150, 155)
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})),
		"0100 /n>/m 50 received topic",
		"0100 /n>/n 20 received topic",
		"0110 /n>/m open",
		"0110 /n>/n 20 received topic",
	)
}

func TestCommunicationPolled(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	pub, sub := s.publisher(n, "/chatter", "aa"), s.subscription(n, "/chatter")
	timer := s.timer(n, 50)
	s.publishes(pub, 100, 105, 0, 0)
	s.runs(n, timer, 150, 170)
	s.polls(sub, "aa", 105, 160, timer, 150)
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})), "0100 /n>/n 60 received gid")
}

// The slots of a ring buffer come round again; what is overwritten is lost.
func TestCommunicationIntraProcess(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	pub := s.publisher(n, "/chatter", "aa")
	first, second := s.intraProcessSubscription(n, "/chatter"), s.intraProcessSubscription(s.node("/m"), "/chatter")
	s.publishesIntra(pub, 100, 0, first, second)
	s.publishesIntra(pub, 200, 1, first, second)
	s.publishesIntra(pub, 300, 0, first, second)
	s.publishesIntra(pub, 400, 1, first, second)
	s.dequeues(first, 0, 110, 115)
	s.dequeues(first, 1, 210, 215)
	s.dequeues(first, 0, 310, 315)
	s.dequeues(second, 0, 350, 355)
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})),
		"0100 /n>/m lost", "0100 /n>/n 10 received buffer",
		"0200 /n>/m lost", "0200 /n>/n 10 received buffer",
		"0300 /n>/m 50 received buffer", "0300 /n>/n 10 received buffer",
		"0400 /n>/m open", "0400 /n>/n open",
	)
}

// On Humble a slot may not be certain: another thread has used the buffer before the operation was seen. Then nothing
// is joined by it, and a message that may have been received is not called lost.
func TestCommunicationThroughUncertainSlots(t *testing.T) {
	unknown := trace.Optional[uint64]{}
	for name, test := range map[string]struct {
		record func(s *recording, pub testPublisher, sub testSubscription)
		want   []string
	}{
		"a dequeue that is seen before its enqueue": {func(s *recording, pub testPublisher, sub testSubscription) {
			s.publishesIntra(pub, 100, 0, sub)
			s.publishesIntra(pub, 200, 0, sub) // drops the first one
			s.rows.Enqueues[1].EnqueueTimestamp, s.rows.Enqueues[1].Size = 220, 0
			s.dequeues(sub, 0, 210, 215)
			s.rows.Callbacks[0].DequeueIndex = unknown
			s.publishesIntra(pub, 300, 0, sub)
			s.dequeues(sub, 0, 310, 315)
		}, []string{"0100 /n>/n unknown", "0200 /n>/n unknown", "0300 /n>/n 10 received buffer"}},
		"an enqueue into an unknown slot": {func(s *recording, pub testPublisher, sub testSubscription) {
			s.publishesIntra(pub, 100, 0, sub)
			s.publishesIntra(pub, 200, 0, sub)
			s.rows.Enqueues[1].Index = unknown
			s.dequeues(sub, 0, 210, 215)
			s.publishesIntra(pub, 300, 1, sub)
			s.dequeues(sub, 1, 310, 315)
		}, []string{"0100 /n>/n unknown", "0200 /n>/n unknown", "0300 /n>/n 10 received buffer"}},
		"a take from an unknown slot": {func(s *recording, pub testPublisher, sub testSubscription) {
			s.publishesIntra(pub, 100, 0, sub)
			s.publishesIntra(pub, 200, 1, sub)
			s.dequeues(sub, 0, 210, 215)
			s.rows.Callbacks[0].DequeueIndex = unknown
			s.dequeues(sub, 1, 220, 225)
		}, []string{"0100 /n>/n unknown", "0200 /n>/n 20 received buffer"}},
		"taken before it is seen, the callback starts later": {func(s *recording, pub testPublisher, sub testSubscription) {
			s.publishesIntra(pub, 100, 0, sub)
			s.rows.Enqueues[0].Size = 0
			s.dequeues(sub, 0, 110, 115)
		}, []string{"0100 /n>/n 10 received buffer"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			test.record(s, s.publisher(n, "/chatter", "aa"), s.intraProcessSubscription(n, "/chatter"))
			wantLines(t, communicationOf(t, s.query(analyze.Filter{})), test.want...)
		})
	}
}

// Two nodes of one name in two processes, and a process whose PID another had before.
func TestCommunicationOfNamesakes(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	pub := s.publisher(n, "/chatter", "aa")
	first := s.subscription(n, "/chatter")
	s.next = 0x1000 // the same addresses
	s.key = trace.ProcessKey{BootID: "boot", PID: 100, ProcessStart: 999_000}
	again := s.node("/n")
	other := s.publisher(again, "/elsewhere", "bb")
	second := s.subscription(again, "/elsewhere")
	if other.handle != pub.handle || second.callback != first.callback {
		t.Fatal("the addresses are not reused")
	}
	s.publishes(pub, 100, 105, 0, 0)
	s.publishes(other, 100, 105, 0, 0)
	s.receives(first, "aa", 105, 110, 111)
	s.receives(second, "bb", 105, 120, 121)
	q := s.query(analyze.Filter{Topics: []*regexp.Regexp{regexp.MustCompile("/else.*")}})
	wantLines(t, communicationOf(t, q), "0100 /n>/n 20 received gid")
}

// A recording of another host, whose clock is 1000 ns ahead, and was stepped by 50 ns while it recorded.
func TestCommunicationAcrossHosts(t *testing.T) {
	here, there := newRecording(t), newRecording(t)
	here.session.Host.BootID, there.session.Host.BootID = "here", "there"
	here.session.Clock = trace.Clock{RealtimeOffset: 5_000, Uncertainty: 3}
	there.session.Clock = trace.Clock{RealtimeOffset: 9_000, Uncertainty: 4}
	here.rows.Clocks = []trace.Clock{here.session.Clock}
	there.rows.Clocks = []trace.Clock{
		{MonotonicTimestamp: 0, RealtimeTimestamp: 9_000, RealtimeOffset: 9_000, Uncertainty: 4},
		{MonotonicTimestamp: 1_000, RealtimeTimestamp: 10_050, RealtimeOffset: 9_050, Uncertainty: 5},
		{MonotonicTimestamp: 9_000, RealtimeTimestamp: 18_050, RealtimeOffset: 9_050, Uncertainty: 4},
	}
	for _, rows := range [][]trace.Clock{here.rows.Clocks, there.rows.Clocks} {
		for i := range rows {
			rows[i].Synchronized, rows[i].MaxError = trace.Some(true), trace.Some(int64(700_000))
		}
	}
	here.session.Clock, there.session.Clock = here.rows.Clocks[0], there.rows.Clocks[0]
	pub := here.publisher(here.node("/talker"), "/chatter", "aa")
	here.publishes(pub, 10_100, 10_105, 0, 0)
	here.publishes(pub, 11_100, 11_105, 0, 0)
	there.key = processKey(300)
	sub := there.subscription(there.node("/listener"), "/chatter")
	there.receives(sub, "aa", 10_105, 10_200, 10_201) // at 10,250 of real time
	there.receives(sub, "aa", 11_105, 11_000, 11_001) // at 11,050: before it was published, as far as the clocks know
	q := newQuery(t, analyze.Filter{}, here.write(), there.write())
	results, err := q.CommunicationLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Count != 2 || results[0].Min.Value != -50 || results[0].Max.Value != 150 {
		t.Fatalf("got %+v", results)
	}
	// The kernel adds 500 µs each second, and the last measurement here is 6.1 µs old.
	if got := results[0].ClockUncertainty; got != trace.Some(int64(3+5+2*1_200_000+3)) {
		t.Errorf("the clocks are uncertain by %v, want 2,400,011", got)
	}
}

// Real time is set back by 1000 while messages are on their way, and source timestamps come again. Latencies are
// measured on the monotonic clock; what was published later has lesser source timestamps, one of them that of a message
// before.
func TestCommunicationOverAClockStep(t *testing.T) {
	s := newRecording(t)
	pub := s.publisher(s.node("/talker"), "/chatter", "aa")
	sub := s.subscription(s.node("/listener"), "/chatter")
	for _, m := range []struct{ at, source, start int64 }{
		{1000, 5005, 1040}, {2000, 6005, 2050}, {2100, 6105, 0}, {2200, 6205, 2260}, {3000, 6005, 3070}, {3100, 6105, 3180}, {4000, 7005, 4090},
	} {
		s.publishes(pub, m.at, m.source, 0, 0)
		if m.start != 0 {
			s.receives(sub, "aa", m.source, m.start, m.start+1)
		}
	}
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})),
		"1000 /talker>/listener 40 received gid", "2000 /talker>/listener 50 received gid", "2100 /talker>/listener lost", "2200 /talker>/listener 60 received gid",
		"3000 /talker>/listener 70 received gid", "3100 /talker>/listener 80 received gid", "4000 /talker>/listener 90 received gid",
	)
}

// Two recordings of one boot share the monotonic clock.
func TestCommunicationOfTwoRecordings(t *testing.T) {
	here, there := newRecording(t), newRecording(t)
	here.session.Host.BootID, there.session.Host.BootID = "boot", "boot"
	here.session.Clock.RealtimeOffset, there.session.Clock.RealtimeOffset = 1_000, 1_700
	pub := here.publisher(here.node("/talker"), "/chatter", "aa")
	here.publishes(pub, 5_000, 5_005, 0, 0)
	there.key = processKey(300)
	there.receives(there.subscription(there.node("/listener"), "/chatter"), "aa", 5_005, 5_720, 5_730)
	results, err := newQuery(t, analyze.Filter{}, here.write(), there.write()).CommunicationLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Max != trace.Some(int64(20)) || results[0].ClockUncertainty.Valid {
		t.Errorf("got %+v", results)
	}
}

// A subscription's life is by the clock of its recording: here it begins after the first message.
func TestCommunicationIsExpectedByTheClockOfTheSubscription(t *testing.T) {
	here, there := newRecording(t), newRecording(t)
	here.session.Host.BootID, there.session.Host.BootID = "boot", "boot"
	here.session.Clock.RealtimeOffset, there.session.Clock.RealtimeOffset = 1_000, 1_700
	pub := here.publisher(here.node("/talker"), "/chatter", "aa")
	here.publishes(pub, 5_000, 5_005, 0, 0)
	here.publishes(pub, 5_500, 5_505, 0, 0)
	there.key = processKey(300)
	there.rows.Processes = append(there.rows.Processes, trace.Process{ProcessKey: there.key})
	there.subscription(there.node("/listener"), "/chatter")
	there.rows.Subscriptions[0].InitTimestamp = trace.Some(int64(6_000)) // 5,300 here
	wantLines(t, communicationOf(t, newQuery(t, analyze.Filter{}, here.write(), there.write())), "5500 /talker>/listener open")
}

// An address has a life in one topic, and then another in another.
func TestCommunicationOfReusedAddresses(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	p := s.publisher(n, "/first", "aa")
	sub := s.subscription(n, "/first")
	s.rows.Publishers[0].EndTimestamp = trace.Some(int64(1000))
	s.rows.Subscriptions[0].EndTimestamp = trace.Some(int64(1000))
	publisher, subscription := s.rows.Publishers[0], s.rows.Subscriptions[0]
	publisher.TopicName, publisher.GID, publisher.InitTimestamp, publisher.EndTimestamp = "/second", "bb", trace.Some(int64(1000)), trace.Optional[int64]{}
	subscription.TopicName, subscription.InitTimestamp, subscription.EndTimestamp = "/second", trace.Some(int64(1000)), trace.Optional[int64]{}
	s.rows.Publishers = append(s.rows.Publishers, publisher)
	s.rows.Subscriptions = append(s.rows.Subscriptions, subscription)
	s.publishes(p, 100, 105, 0, 0)
	s.receives(sub, "aa", 105, 110, 111)
	s.publishes(p, 2000, 2005, 0, 0)
	s.receives(sub, "bb", 2005, 2030, 2031)
	results, err := s.query(analyze.Filter{}).CommunicationLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Topic != "/first" || results[0].Max.Value != 10 || results[1].Topic != "/second" || results[1].Max.Value != 30 {
		t.Errorf("got %+v", results)
	}
}

// A message that rclcpp dropped was not received: it came through intra-process communication, too.
func TestIgnoredTakesAreNotReceived(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	p, sub := s.publisher(n, "/t", "aa"), s.subscription(n, "/t")
	s.publishes(p, 100, 105, 0, 0)
	s.publishes(p, 200, 205, 0, 0)
	s.polls(sub, "aa", 105, 120, 0, 0)
	s.polls(sub, "aa", 205, 220, 0, 0)
	s.rows.Takes[0].Kind = trace.TakeIgnored
	wantLines(t, communicationOf(t, s.query(analyze.Filter{})), "0100 /n>/n lost", "0200 /n>/n 20 received gid")
}

// A message is published when the first layer of rclcpp is passed, and without it the first below.
func TestPublished(t *testing.T) {
	some := trace.Some[int64]
	for name, test := range map[string]struct {
		instance analyze.CommunicationInstance
		want     int64
	}{
		"by rclcpp":       {analyze.CommunicationInstance{RclcppPublish: some(20), RclPublish: some(10), RMWPublish: some(30)}, 20},
		"in both ways":    {analyze.CommunicationInstance{RclcppIntraPublish: some(15), RclcppPublish: some(20)}, 15},
		"within":          {analyze.CommunicationInstance{RclcppIntraPublish: some(15)}, 15},
		"serialized":      {analyze.CommunicationInstance{RclPublish: some(10), RMWPublish: some(30)}, 10},
		"below rcl alone": {analyze.CommunicationInstance{RMWPublish: some(30)}, 30},
	} {
		if got := test.instance.Published(); got != test.want {
			t.Errorf("%s: it is %d, want %d", name, got, test.want)
		}
	}
}
