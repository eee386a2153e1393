package duckdb

import (
	"database/sql"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
	"github.com/caret-bpf/caret-bpf/fleet"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

// simulatedFleet is one whose last chain drifts, in a lake.
func simulatedFleet(t *testing.T) (f simulated.Fleet, dir string) {
	t.Helper()
	f = simulated.Default()
	f.Recordings, f.Vehicles, f.Releases, f.Chains, f.Callbacks, f.Drift = 80, 10, 2, 3, 1200, 0.02
	dir = filepath.Join(t.TempDir(), "lake")
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), l), l.Close()); err != nil {
		t.Fatal(err)
	}
	return f, dir
}

// fleetQuery is a block of the page.
type fleetQuery struct{ name, text string }

// fleetQueries are the views of the lake, and the blocks of the page.
func fleetQueries(t *testing.T, dir string) (queries []fleetQuery) {
	t.Helper()
	views, err := lakeviews.Views(dir, "duckdb", nil)
	if err != nil {
		t.Fatal(err)
	}
	queries = []fleetQuery{{"views", views}}
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	if blocks := strings.Count(string(page), "```sql\n"); blocks == 0 {
		t.Fatal("the page has no SQL")
	}
	for _, match := range regexp.MustCompile("(?s)<!-- query: ([a-z ]+) -->\n```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		queries = append(queries, fleetQuery{match[1], match[2]})
	}
	if blocks := strings.Count(string(page), "```sql\n"); blocks != len(queries)-1 {
		t.Fatalf("%d of %d blocks have a name", len(queries)-1, blocks)
	}
	return queries
}

// rowsOf are those of a query, by column.
func rowsOf(t *testing.T, db *sql.DB, query string) (rows []map[string]any) {
	t.Helper()
	result, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	names, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for result.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := result.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make(map[string]any)
		for i, name := range names {
			row[name] = values[i]
		}
		rows = append(rows, row)
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func close1(a, b, error float64) bool { return math.Abs(a-b) <= error*max(1, math.Abs(b)) }

// TestFleetQueries runs what docs/fleet.md says, and compares it with what Go says and with what was made up.
func TestFleetQueries(t *testing.T) {
	f, dir := simulatedFleet(t)
	db := openDuckDB(t)
	db.SetMaxOpenConns(1)
	answers := make(map[string][]map[string]any)
	for _, q := range fleetQueries(t, dir) {
		if strings.Contains(q.text, "CREATE ") {
			if _, err := db.Exec(q.text); err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
			continue
		}
		rows := rowsOf(t, db, q.text)
		if len(rows) == 0 {
			t.Errorf("%s: no rows", q.name)
		}
		answers[q.name] = rows
	}
	compareRegressions(t, answers["regressions"], dir)
	path, _ := f.Regressed()
	if first := answers["drift"][0]; !strings.HasPrefix(first["name"].(string), "/chain_02/node_1") || !close1(first["percent_a_week"].(float64), 100*f.Drift, 0.3) {
		t.Errorf("drift: %v", first)
	}
	for _, row := range answers["drift"] {
		if row["vehicles"].(int64) != int64(f.Vehicles) {
			t.Errorf("drift does not count each vehicle once: %v", row)
		}
	}
	for _, row := range answers["correlations"] {
		// The time of day makes all slower.
		if row["with_load"].(float64) < 0.5 || row["recordings"].(int64) != int64(f.Recordings) {
			t.Errorf("correlations: %v", row)
		}
	}
	if worst := answers["worst vehicles"]; len(worst) != 10 || worst[0]["slower_percent"].(float64) < 5 {
		t.Errorf("worst vehicles: %v", worst)
	}
	recordings := int64(0)
	for _, row := range answers["dashboard coverage"] {
		recordings += row["recordings"].(int64)
		if row["vehicles"].(int64) != int64(f.Vehicles) {
			t.Errorf("coverage: %v", row)
		}
	}
	if recordings != int64(f.Recordings) {
		t.Errorf("%d recordings", recordings)
	}
	found := false
	for _, row := range answers["dashboard paths"] {
		found = found || row["path"] == path && row["median_ms"].(float64) > 1
	}
	if !found {
		t.Errorf("dashboard paths: %v", answers["dashboard paths"][:1])
	}
}

// compareRegressions compares the change of each latency with Go's.
func compareRegressions(t *testing.T, rows []map[string]any, dir string) {
	t.Helper()
	var groups [2]fleet.Group
	for i, text := range []string{"A=release=1.8", "B=release=1.9"} {
		var err error
		if groups[i], err = fleet.ParseGroup(text); err != nil {
			t.Fatal(err)
		}
	}
	d, err := fleet.Diff(t.Context(), dir, groups, fleet.Options{Alpha: 0.01, MinChange: 0.03, Percentile: 50, Vehicle: "vehicle"})
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]fleet.LatencyChange)
	// The names of the command have more words.
	words := strings.NewReplacer(" ns Node", " Node", " → ", " ")
	for _, l := range d.Latencies {
		want[l.Kind+" "+words.Replace(l.Name)] = l
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, Go has %d", len(rows), len(want))
	}
	for _, row := range rows {
		l, known := want[row["kind"].(string)+" "+row["name"].(string)]
		if !known {
			t.Errorf("Go does not have %v", row)
			continue
		}
		if row["vehicles"].(int64) != int64(l.UnitsA) || int64(math.Round(row["a"].(float64))) != l.A.Value || int64(math.Round(row["b"].(float64))) != l.B.Value ||
			!close1(row["change_percent"].(float64), l.Percent.Value, 1e-9) || !close1(row["vehicle_noise_percent"].(float64), l.VehicleNoise.Value, 1e-9) {
			t.Errorf("SQL has %v, Go %+v", row, l)
		}
	}
}
