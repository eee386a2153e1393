package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// cells are what tables show: for each row, the exact values by their columns.
func (p *page) cells(table string) (rows []map[string]json.RawMessage) {
	p.t.Helper()
	selector := fmt.Sprintf("table[data-table=%s] tbody tr", quoted(table))
	p.wait(fmt.Sprintf("document.querySelectorAll(%s).length > 0", quoted(selector)))
	text := evaluate[string](p, fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(%s)].map(row =>
		Object.fromEntries([...row.querySelectorAll("[data-column]")].map(cell => [cell.dataset.column, JSON.parse(cell.dataset.value)]))))`,
		quoted(selector)))
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		p.t.Fatal(err)
	}
	return rows
}

// expectTable compares a table with what a command answers, in any order: people sort it.
func (p *page) expectTable(table string, want []map[string]json.RawMessage) {
	p.t.Helper()
	got := texts(p.cells(table))
	expected := texts(want)
	if len(expected) == 0 {
		p.t.Errorf("there is nothing to compare %s with", table)
	}
	if !slices.Equal(got, expected) {
		p.t.Errorf("table %s shows %d rows, the command answers %d; the first that differ:\n%s", table, len(got), len(expected), firstOther(got, expected))
	}
}

// texts are rows as texts that can be compared, in order.
func texts(rows []map[string]json.RawMessage) (all []string) {
	for _, row := range rows {
		var parsed any
		text, err := json.Marshal(row)
		if err == nil {
			err = json.Unmarshal(text, &parsed)
		}
		if err == nil {
			text, err = json.Marshal(parsed) // numbers of the same value are the same text
		}
		if err != nil {
			panic(err)
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}

func firstOther(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing: " + want[i]
		case i >= len(want):
			return "too many: " + got[i]
		case got[i] != want[i]:
			return got[i] + "\n" + want[i]
		}
	}
	return ""
}

// everyForm runs a test for what a server serves, and for a report of the same.
func everyForm(t *testing.T, arguments []string, test func(t *testing.T, p *page)) {
	t.Helper()
	t.Run("view", func(t *testing.T) {
		url, _ := serve(t, arguments...)
		test(t, openPage(t, url))
	})
	t.Run("report", func(t *testing.T) { test(t, openPage(t, reported(t, arguments...))) })
}
