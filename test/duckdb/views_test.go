package duckdb

import (
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// systemDataset writes the dataset of a made-up system.
func systemDataset(t *testing.T, callbacks int) *trace.Dataset {
	t.Helper()
	return writeDataset(t, callbacks, func(*trace.Batch) {}, func(w *writer.Writer) {
		addPollsAndCalls(t, w)
		addUncertainSlots(t, w)
	})
}

// writeDataset writes the dataset of a made-up system with changed rows, and with what add adds, if it is not nil.
func writeDataset(t *testing.T, callbacks int, change func(*trace.Batch), add func(*writer.Writer)) *trace.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a dataset")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	entities, err := tracetest.System(callbacks, func(batch *trace.Batch) error {
		change(batch)
		return w.Write(batch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(entities); err != nil {
		t.Fatal(err)
	}
	if add != nil {
		add(w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openViews(t *testing.T, d *trace.Dataset) *sql.DB {
	t.Helper()
	views, err := analyze.Views(d)
	if err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t)
	db.SetMaxOpenConns(1) // views live in the connection's database
	if _, err := db.Exec(views); err != nil {
		t.Fatal(err)
	}
	return db
}

// The views give what the Go queries give, column by column.
func TestCallbackViewEqualsGo(t *testing.T) {
	d := systemDataset(t, 20_000)
	query, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	want, err := query.CallbackLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := summary.Of(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	totals := make(map[string]int64)
	for _, c := range recorded.Callbacks {
		totals[c.NodeName] = c.TotalTime
	}
	type latency struct {
		kind, topic, symbol                                    string
		period                                                 sql.NullInt64
		count, total, min, mean, p50, p90, p99, p999, max, pid int64
	}
	got := make(map[string]latency)
	rates := make(map[string]float64)
	rows, err := openViews(t, d).Query(`SELECT node_name, kind, coalesce(topic_name, ''), coalesce(symbol, ''), period, count, total_time, min, mean, p50, p90, p99, p99_9, max, pid, rate FROM callback_latency`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var node string
		var l latency
		var rate float64
		if err := rows.Scan(&node, &l.kind, &l.topic, &l.symbol, &l.period, &l.count, &l.total, &l.min, &l.mean, &l.p50, &l.p90, &l.p99, &l.p999, &l.max, &l.pid, &rate); err != nil {
			t.Fatal(err)
		}
		got[node], rates[node] = l, rate
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(want) != 66 {
		t.Fatalf("%d callbacks, Go has %d, want 66", len(got), len(want))
	}
	for _, w := range want {
		expected := latency{
			kind: string(w.Kind), topic: w.Topic, symbol: w.Symbol, period: sql.NullInt64{Int64: w.Period.Value, Valid: w.Period.Valid},
			count: int64(w.Count), total: totals[w.Node], min: w.Min.Value, mean: w.Mean.Value, p50: w.P50.Value, p90: w.P90.Value, p99: w.P99.Value,
			p999: w.P999.Value, max: w.Max.Value, pid: int64(w.PID),
		}
		if got[w.Node] != expected {
			t.Errorf("%s: SQL has\n%+v, Go\n%+v", w.Node, got[w.Node], expected)
		}
		if math.Abs(rates[w.Node]-w.Rate.Value) > 1e-9*w.Rate.Value {
			t.Errorf("%s: rate %v, Go has %v", w.Node, rates[w.Node], w.Rate.Value)
		}
	}
}

func TestTopicViewEqualsGo(t *testing.T) {
	d := systemDataset(t, 20_000)
	recorded, err := summary.Of(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	db := openViews(t, d)
	for _, want := range recorded.Topics {
		var got summary.Topic
		if err := db.QueryRow(`SELECT topic_name, publishes, rate, received FROM topic_summary WHERE topic_name = ?`, want.TopicName).
			Scan(&got.TopicName, &got.Publishes, &got.Rate.Value, &got.Received); err != nil {
			t.Fatal(err)
		}
		if got.Publishes != want.Publishes || got.Received != want.Received || math.Abs(got.Rate.Value-want.Rate.Value) > 1e-9*want.Rate.Value {
			t.Errorf("SQL has %+v, Go %+v", got, want)
		}
	}
	var topics int
	if err := db.QueryRow(`SELECT count(*) FROM topic_summary`).Scan(&topics); err != nil || topics != len(recorded.Topics) {
		t.Errorf("%d topics, %v; Go has %d", topics, err, len(recorded.Topics))
	}
}

// The queries of docs/queries.md run on the views and find something.
func TestQueriesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	db := openViews(t, systemDataset(t, 2000))
	queries := strings.Split(strings.TrimSuffix(strings.TrimSpace(block), ";"), ";")
	if len(queries) < 3 {
		t.Fatalf("docs/queries.md has %d queries", len(queries))
	}
	for _, query := range queries {
		var rows int
		if err := db.QueryRow("SELECT count(*) FROM (" + query + ")").Scan(&rows); err != nil || rows == 0 {
			t.Errorf("%d rows, %v from %s", rows, err, query)
		}
	}
}

// Every view is well-formed, also of tables that the dataset does not have, and times are typed.
func TestViewsOfAnEmptyDataset(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Enqueue{{EnqueueTimestamp: 1_760_000_000_123_456_789}})
	tracetest.AddSession(t, dir, trace.NewSession())
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := openViews(t, d)
	for _, view := range []string{"callback", "callback_execution", "callback_latency", "topic_summary", "communication", "communication_latency", "node_hop", "node_latency", "service_call", "delayed_execution", "callback_delay", "node_hop_parts"} {
		var rows int
		if err := db.QueryRow("SELECT count(*) FROM " + view).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%s: %d rows, %v", view, rows, err)
		}
	}
	var text string
	if err := db.QueryRow("SELECT enqueue_time::VARCHAR FROM enqueue").Scan(&text); err != nil || text != "2025-10-09 08:53:20.123456789" {
		t.Errorf("%s, %v", text, err)
	}
}
