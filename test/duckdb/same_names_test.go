package duckdb

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A node may have two subscriptions of one topic, as one of ROS 2's examples of executors has. Each has latencies of its
// own, as the commands tell them.
func TestSubscriptionsOfTheSameNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = l.PublishMade(t.Context(), "made", []lake.Key{{Name: lake.KeyDate, Value: "2026-01-01"}, {Name: "vehicle", Value: "v1"}}, func(m *lake.Made) (lake.RecordingRow, error) {
		var rows []lake.MessageFact
		for subscription := range int32(2) {
			rows = append(rows, lake.MessageFact{
				Topic: "/topic", PublisherNode: "/talker", SubscriptionNode: "/both", SubscriptionID: subscription, Fate: analyze.Received,
				Publish: 100, Latency: trace.Some(int64(10 * (1 + subscription))),
			})
		}
		return lake.RecordingRow{}, m.Messages.Write(rows)
	})
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	views, err := lakeviews.Views(dir, "duckdb", nil)
	if err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t)
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(views); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, db, "SELECT subscription_id, count, max FROM communication_latency ORDER BY subscription_id")
	if len(rows) != 2 || rows[0]["max"] != int64(10) || rows[1]["max"] != int64(20) {
		t.Errorf("got %v", rows)
	}
}
