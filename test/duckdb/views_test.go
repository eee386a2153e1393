package duckdb

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/test/answers"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

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

// The queries of docs/queries.md run on the views and find something.
func TestQueriesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	db := openViews(t, answers.Dataset(t, 2000))
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
	for _, view := range []string{"callback", "callback_execution", "callback_latency", "topic_summary", "communication", "communication_latency", "node_hop", "node_latency", "service_call", "delayed_execution", "callback_delay", "node_hop_parts", "callback_preempter", "node_hop_preempter"} {
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
