package duckdb

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// addPollsAndCalls adds a node that polls a topic in its timer and publishes what it made of it, and calls of a
// service: some messages are never polled, some requests never answered, and some clients have no gid.
func addPollsAndCalls(t *testing.T, w *writer.Writer) {
	const (
		begin                            = int64(1_760_000_000_000_000_000)
		rounds                           = 200
		timer, giver, poller             = trace.Address(0x2000), trace.Address(0x1000), trace.Address(0x4000)
		subscription, client, server     = trace.Address(0x3000), trace.Address(0x5000), trace.Address(0x6000)
		giverThread, pollerThread, other = 901, 902, 903
	)
	key := trace.ProcessKey{BootID: "another boot", PID: 900, ProcessStart: 5}
	var publishes []trace.Publish
	var takes []trace.Take
	var callbacks []trace.Callback
	var calls []trace.Service
	for i := range int64(rounds) {
		at := begin + i*1_000_000
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: giverThread, PublishNumber: uint64(i), PublisherHandle: giver, TopicName: "/asked", NodeName: "/giver",
			RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at + 1), RMWPublishTimestamp: trace.Some(at + 2),
			SourceTimestamp: trace.Some(at + 3), Status: trace.PublishComplete,
		})
		start := trace.Some(at + 100)
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: key, TID: pollerThread, Callback: timer, CallbackStartTimestamp: start, CallbackEndTimestamp: trace.Some(at + 900), Kind: trace.KindTimer,
			Status: trace.CallbackComplete, NodeName: "/poller",
		})
		kind := trace.TakeRMW
		if i%7 == 0 {
			kind = trace.TakeIgnored
		}
		topic, node := "/asked", "/poller"
		if i < 50 {
			topic, node = "", "" // the subscription was not known yet
		}
		if i%14 != 0 {
			takes = append(takes, trace.Take{
				ProcessKey: key, TID: pollerThread, Kind: kind, SubscriptionHandle: subscription, TopicName: topic, NodeName: node,
				SourceTimestamp: trace.Some(at + 3), RMWTakeTimestamp: trace.Some(at + 150 + i), Callback: timer, CallbackStartTimestamp: start, PublisherGID: "0102",
			})
		}
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: pollerThread, PublishNumber: uint64(i), PublisherHandle: poller, TopicName: "/answered", NodeName: "/poller",
			RclcppPublishTimestamp: trace.Some(at + 700 - i), SourceTimestamp: trace.Some(at + 703), Callback: timer, CallbackStartTimestamp: start,
			Status: trace.PublishComplete,
		})
		call := trace.Service{ProcessKey: key, TID: other, SequenceNumber: i % 150, ClientGID: "0a0b", ServiceName: "/add"}
		if i%9 == 0 {
			call.ClientGID = ""
		}
		for n, step := range []trace.ServiceStep{trace.RequestSent, trace.RequestTaken, trace.ResponseSent, trace.ResponseTaken} {
			call.Step, call.StepTimestamp = step, at+int64(n)*(200+i)
			call.ClientHandle, call.ServiceHandle, call.NodeName = 0, server, "/giver"
			if n == 0 || n == 3 {
				call.ClientHandle, call.ServiceHandle, call.NodeName = client, 0, "/poller"
			}
			if i < 150 || n < 2 { // the last calls, whose sequence numbers come again, are not answered
				calls = append(calls, call)
			}
		}
	}
	// Two servers of one service: each takes every request and answers it, one sooner than the other; the slow one misses
	// every third.
	for i := range int64(30) {
		at := begin + (rounds+i)*1_000_000
		step := func(step trace.ServiceStep, after int64, client, server trace.Address, node string) {
			calls = append(calls, trace.Service{
				ProcessKey: key, TID: other, SequenceNumber: i % 20, ClientGID: "0c0d", ServiceName: "/both", Step: step, StepTimestamp: at + after,
				ClientHandle: client, ServiceHandle: server, NodeName: node,
			})
		}
		step(trace.RequestSent, 0, client, 0, "/poller")
		step(trace.RequestTaken, 10, 0, server, "/giver")
		if i%3 > 0 {
			step(trace.RequestTaken, 20, 0, server+8, "/poller")
		}
		step(trace.ResponseSent, 30+i, 0, server, "/giver")
		step(trace.ResponseTaken, 100, client, 0, "/poller")
		if i%3 > 0 {
			step(trace.ResponseSent, 200+i, 0, server+8, "/poller")
			step(trace.ResponseTaken, 300, client, 0, "/poller")
		}
	}
	add(t, w, publishes)
	add(t, w, takes)
	add(t, w, callbacks)
	add(t, w, calls)
	add(t, w, []trace.Process{{ProcessKey: key}})
	add(t, w, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "giver", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "poller", Namespace: "/"}})
	add(t, w, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: giver, NodeHandle: 1, NodeName: "/giver", TopicName: "/asked", GID: "0102"},
		{ProcessKey: key, PublisherHandle: poller, NodeHandle: 2, NodeName: "/poller", TopicName: "/answered", GID: "0103"},
	})
	add(t, w, []trace.Subscription{{ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: 2, NodeName: "/poller", TopicName: "/asked"}})
	add(t, w, []trace.Timer{{ProcessKey: key, TimerHandle: 7, NodeHandle: 2, NodeName: "/poller", Callback: timer}})
	add(t, w, []trace.CallbackInfo{{ProcessKey: key, Callback: timer, Kind: trace.KindTimer, OwnerHandle: 7, NodeName: "/poller"}})
}

// addUncertainSlots adds a buffer of Humble's, of which the slots of some messages are not certain.
func addUncertainSlots(t *testing.T, w *writer.Writer) {
	const (
		begin                          = int64(1_760_000_000_000_000_000)
		publisher, subscription        = trace.Address(0x1000), trace.Address(0x3000)
		callback, buffer               = trace.Address(0x2000), trace.Address(0x4000)
		publisherThread, callersThread = 911, 912
	)
	key := trace.ProcessKey{BootID: "another boot", PID: 910, ProcessStart: 6}
	slot := func(index int64, certain bool) trace.Optional[uint64] {
		if !certain {
			return trace.Optional[uint64]{}
		}
		return trace.Some(uint64(index))
	}
	var publishes []trace.Publish
	var enqueues []trace.Enqueue
	var callbacks []trace.Callback
	var takes []trace.Take
	for i := range int64(300) {
		at := begin + i*1_000_000
		publishes = append(publishes, trace.Publish{
			ProcessKey: key, TID: publisherThread, PublishNumber: uint64(i), PublisherHandle: publisher, TopicName: "/uncertain", NodeName: "/source",
			RclcppIntraPublishTimestamp: trace.Some(at), EnqueueCount: 1, Status: trace.PublishComplete,
		})
		enqueues = append(enqueues, trace.Enqueue{
			ProcessKey: key, TID: publisherThread, Buffer: buffer, Index: slot(i%4, i%11 != 0), Size: 1, EnqueueTimestamp: at + 10,
			PublishNumber: trace.Some(uint64(i)), PublisherHandle: publisher, TopicName: "/uncertain",
		})
		if i%5 == 0 {
			continue // it is dropped
		}
		taken := at + 20 + i%3*900_000
		if i%10 == 1 {
			takes = append(takes, trace.Take{
				ProcessKey: key, TID: callersThread, Kind: trace.TakeDequeue, Buffer: buffer, DequeueIndex: slot(i%4, i%7 != 0), DequeueTimestamp: trace.Some(taken),
			})
			continue
		}
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: key, TID: callersThread, Callback: callback, CallbackStartTimestamp: trace.Some(taken + 5), CallbackEndTimestamp: trace.Some(taken + 50),
			Kind: trace.KindIntraProcessSubscription, Status: trace.CallbackComplete, NodeName: "/sink", TopicName: "/uncertain", SubscriptionHandle: subscription,
			IsIntraProcess: trace.Some(true), Buffer: buffer, DequeueIndex: slot(i%4, i%7 != 0), DequeueTimestamp: trace.Some(taken),
		})
	}
	add(t, w, publishes)
	add(t, w, enqueues)
	add(t, w, takes)
	add(t, w, callbacks)
	add(t, w, []trace.Process{{ProcessKey: key}})
	add(t, w, []trace.Node{{ProcessKey: key, NodeHandle: 1, NodeName: "source", Namespace: "/"}, {ProcessKey: key, NodeHandle: 2, NodeName: "sink", Namespace: "/"}})
	add(t, w, []trace.Publisher{{ProcessKey: key, PublisherHandle: publisher, NodeHandle: 1, NodeName: "/source", TopicName: "/uncertain"}})
	add(t, w, []trace.Subscription{{
		ProcessKey: key, SubscriptionHandle: subscription, NodeHandle: 2, NodeName: "/sink", TopicName: "/uncertain", Callback: callback, Buffer: buffer,
		IsIntraProcess: trace.Some(true),
	}})
}

// The views have the rows of the Go commands' --series, and their statistics.
func TestAnswerViewsEqualGo(t *testing.T) {
	d := systemDataset(t, 20_000)
	db := openViews(t, d)
	query := func() *analyze.Query {
		q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	t.Run("communication", func(t *testing.T) {
		var want, wantStatistics []string
		results, err := query().CommunicationLatency(t.Context(), func(rows []analyze.CommunicationInstance) error {
			for _, r := range rows {
				if r.Fate == analyze.Received {
					want = append(want, line(r.Topic, r.PublisherNode, r.PublisherPID, r.SubscriptionNode, r.SubscriptionPID, r.Transport, r.JoinedBy,
						r.RclcppIntraPublish, r.RclcppPublish, r.RclPublish, r.RMWPublish, r.DDSBindAddrToStamp, r.SourceTimestamp, r.RclcppRingBufferQueue,
						r.Take, r.CallbackStartTimestamp, r.Latency))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Count > 0 {
				wantStatistics = append(wantStatistics, line(r.Topic, r.PublisherNode, r.PublisherPID, r.SubscriptionNode, r.SubscriptionPID, r.Transport,
					r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max, r.JoinedByTopic))
			}
		}
		if len(wantStatistics) != 50 {
			t.Errorf("Go has %d pairs, want 50", len(wantStatistics))
		}
		equalLines(t, want, lines(t, db, `SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport, joined_by,
			rclcpp_intra_publish_timestamp, rclcpp_publish_timestamp, rcl_publish_timestamp, rmw_publish_timestamp, dds_bind_addr_to_stamp_timestamp,
			source_timestamp, rclcpp_ring_buffer_enqueue_timestamp, take_timestamp, callback_start_timestamp, latency FROM communication`))
		equalLines(t, wantStatistics, lines(t, db, `SELECT topic_name, publisher_node_name, publisher_pid, subscription_node_name, subscription_pid, transport,
			count, min, mean, p50, p90, p99, p99_9, max, joined_by_topic FROM communication_latency`))
	})
	t.Run("node", func(t *testing.T) {
		var want, wantStatistics []string
		results, err := query().NodeLatency(t.Context(), analyze.LinkOptions{}, func(rows []analyze.NodeInstance) error {
			for _, r := range rows {
				if r.Latency.Valid {
					want = append(want, line(r.Node, r.PID, r.SubscriptionTopic, r.PublisherTopic, r.Input, r.InputEnd, r.OutputStart, r.Publish, r.Latency))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			wantStatistics = append(wantStatistics, line(r.Node, r.PID, r.SubscriptionTopic, r.PublisherTopic, r.Count, r.Min, r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max))
		}
		if len(wantStatistics) != 33 {
			t.Errorf("Go has %d pairs, want 33", len(wantStatistics))
		}
		equalLines(t, want, lines(t, db, `SELECT node_name, pid, subscription_topic_name, publisher_topic_name, callback_start_timestamp, callback_end_timestamp,
			publish_callback_start_timestamp, publish_timestamp, latency FROM node_hop`))
		equalLines(t, wantStatistics, lines(t, db, `SELECT node_name, pid, subscription_topic_name, publisher_topic_name, count, min, mean, p50, p90, p99, p99_9, max
			FROM node_latency`))
	})
	t.Run("service", func(t *testing.T) {
		var want []string
		if _, err := query().ServiceLatency(t.Context(), func(rows []analyze.ServiceCall) error {
			for _, r := range rows {
				want = append(want, line(r.Service, r.ClientNode, r.ServerNode, r.ClientGID, r.SequenceNumber,
					r.RequestSent, r.RequestTaken, r.ResponseSent, r.ResponseTaken, r.Latency))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		equalLines(t, want, lines(t, db, `SELECT service_name, coalesce(client_node_name, ''), coalesce(server_node_name, ''), coalesce(client_gid, ''), sequence_number,
			request_sent_timestamp, request_taken_timestamp, response_sent_timestamp, response_taken_timestamp, latency FROM service_call`))
	})
}

// line writes values as lines does.
func line(values ...any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if o, ok := v.(trace.Optional[int64]); ok {
			if v = o.Value; !o.Valid {
				v = "null"
			}
		}
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " | ")
}

// lines returns the rows of a query, each as a line.
func lines(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rows.Next() {
		values, pointers := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if v == nil {
				values[i] = "null"
			}
		}
		got = append(got, line(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

func equalLines(t *testing.T, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || len(want) != len(got) {
		t.Errorf("SQL has %d rows, Go %d", len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		if got[i] != want[i] {
			t.Fatalf("SQL has\n%s\nGo\n%s", got[i], want[i])
		}
	}
}
