package duckdb

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Rows joined with who lived at an address remain as many, also where no begin of the second one was seen.
func TestReusedAddressesMultiplyNoRows(t *testing.T) {
	const callback, publisher = 0x13, 0x23
	key := trace.ProcessKey{BootID: "boot", PID: 7, ProcessStart: 1}
	other := trace.ProcessKey{BootID: "boot", PID: 8, ProcessStart: 1}
	begin, end := trace.Some(int64(100)), trace.Some(int64(200))
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: key, Callback: callback, NodeName: "/first", InitTimestamp: begin, EndTimestamp: end, Telling: trace.Telling{Entity: 1, Revision: 1}},
		{ProcessKey: key, Callback: callback, NodeName: "/second", Telling: trace.Telling{Entity: 2, Revision: 2}},
		{ProcessKey: other, Callback: callback, NodeName: "/other", Telling: trace.Telling{Entity: 3, Revision: 3}},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: publisher, NodeName: "/first", InitTimestamp: begin, EndTimestamp: end, Telling: trace.Telling{Entity: 4, Revision: 4}},
		{ProcessKey: key, PublisherHandle: publisher, NodeName: "/second", Telling: trace.Telling{Entity: 5, Revision: 5}},
		{ProcessKey: other, PublisherHandle: publisher, NodeName: "/other", Telling: trace.Telling{Entity: 6, Revision: 6}},
	})
	var callbacks []trace.Callback
	var publishes []trace.Publish
	for _, process := range []trace.ProcessKey{key, other} {
		for _, at := range []int64{50, 150, 250} {
			callbacks = append(callbacks, trace.Callback{ProcessKey: process, Callback: callback, CallbackStartTimestamp: trace.Some(at)})
			publishes = append(publishes, trace.Publish{ProcessKey: process, PublisherHandle: publisher, RclcppPublishTimestamp: trace.Some(at)})
		}
	}
	tracetest.AddSegment(t, dir, 0, callbacks)
	tracetest.AddSegment(t, dir, 0, publishes)
	tracetest.AddSession(t, dir, trace.NewSession())
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := openViews(t, d)
	const want = "7 50 ?, 7 150 /first, 7 250 /second, 8 50 /other, 8 150 /other, 8 250 /other"
	for view, at := range map[string]string{"callback_execution": "callback_start_timestamp", "published": "rclcpp_publish_timestamp"} {
		var got string
		err := db.QueryRow("SELECT string_agg(concat_ws(' ', pid, " + at + ", coalesce(node_name, '?')), ', ' ORDER BY pid, " + at + ") FROM " + view).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", view, got, err, want)
		}
	}
}
