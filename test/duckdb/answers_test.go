package duckdb

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/answers"
)

// The views have the rows of the Go commands' --series, and their statistics.
func TestAnswerViewsEqualGo(t *testing.T) {
	d := answers.Dataset(t, 20_000)
	db := openViews(t, d)
	for _, answer := range answers.Of(t, d) {
		t.Run(answer.View, func(t *testing.T) { equalLines(t, answer.Want, lines(t, db, answer.Query)) })
	}
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
		got = append(got, answers.Line(values...))
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
