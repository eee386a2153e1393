package analyze

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze/dialect"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrOldFormat is the error about datasets whose columns are unsigned, which only DuckDB's views show.
var ErrOldFormat = errors.New("its format has unsigned columns, which only --dialect duckdb shows")

// ErrDialect is the error about a dialect that there is not.
var ErrDialect = errors.New("there is no such dialect")

// Dialects are the names that ViewsIn knows, the first of which is DuckDB's.
func Dialects() []string { return dialect.Names() }

// ViewsFileIn is the name under which the views in a dialect are written next to a dataset.
func ViewsFileIn(name string) string {
	if name == duckDB.Name {
		return ViewsFile
	}
	return strings.TrimSuffix(ViewsFile, ".sql") + "." + name + ".sql"
}

// ViewsIn returns the views of a dataset in a dialect of SQL, which is one of Dialects. For DuckDB they are those of
// Views. For others they are the same, and a table needs a declaration. They cannot show datasets of formats 1 and 2
// (ErrOldFormat), and not those whose path the engine takes for a pattern.
func ViewsIn(d *trace.Dataset, name string) (string, error) {
	to := dialect.ByName(name)
	if to == nil {
		return "", fmt.Errorf("%w as %q: name one of %s", ErrDialect, name, strings.Join(Dialects(), ", "))
	}
	if to == duckDB {
		return Views(d)
	}
	dir, err := filepath.Abs(d.Dir())
	if err != nil {
		return "", fmt.Errorf("views of %s: %w", d.Dir(), err)
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "-- Views of a caret-bpf dataset for %s. Times are Unix nanoseconds; those named …_time are typed.\n\n", to.Engine)
	sql.WriteString(to.Before + unstampedComment(d.Session()))
	for _, table := range trace.Registry() {
		segments, _, err := d.Segments(table.Name)
		if err != nil {
			return "", err
		}
		groups, _ := trace.Groups(context.Background(), d, table.Name) // a damaged segment says nothing; the engine will complain about it
		view, err := engineTableView(to, table, dir, len(segments) > 0, groups)
		if err != nil {
			return "", fmt.Errorf("views of %s: %w", d.Dir(), err)
		}
		sql.WriteString(view)
	}
	questions, err := renderViews(to)
	if err != nil {
		return "", err
	}
	sql.WriteString(questions)
	return sql.String(), nil
}

// engineTableView is the view of a table for another engine than DuckDB.
func engineTableView(to *dialect.Dialect, table *trace.Table, dir string, exists bool, groups []*trace.Group) (string, error) {
	storesOffsets := storesOffsets(table, groups)
	var stored []dialect.Column
	var selected, times []string
	for i := range table.Columns {
		c := &table.Columns[i]
		if slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.IsUnsigned(c.Name) }) {
			return "", ErrOldFormat
		}
		null := to.Cast("NULL", viewTypes[c.Type])
		value := c.Name
		switch {
		case !exists, c.IsOffset() && !storesOffsets, len(groups) > 0 && !slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.HasColumn(c.Name) }):
			value = null
		default:
			stored = append(stored, dialect.Column{Name: c.Name, Type: viewTypes[c.Type]})
		}
		if c.IsOffset() {
			continue
		}
		if c.After != "" && storesOffsets {
			value = wholeTime(c)
		}
		selected = append(selected, value+" AS "+c.Name)
		if typed := typedTime(c); typed != "" {
			times = append(times, to.Time(value)+" AS "+typed)
		}
	}
	if !exists {
		selected = slices.Concat(selected, times, []string{to.Cast("NULL", dialect.Text) + " AS filename", to.Cast("NULL", dialect.BigInt) + " AS file_row_number"})
		return fmt.Sprintf("%s\nSELECT * FROM (SELECT %s) nothing WHERE false%s\n\n", to.Create(table.Name), strings.Join(selected, ",\n       "), to.End()), nil
	}
	files, err := to.Files(table.Name+"_segments", dialect.Folder{Path: filepath.Join(dir, table.Name)}, stored)
	if err != nil {
		return "", err
	}
	selected = slices.Concat(selected, times, []string{files.File + " AS filename", files.Row + " AS file_row_number"})
	query := fmt.Sprintf("SELECT %s\nFROM %s", strings.Join(selected, ",\n       "), files.From)
	if identity, order := countingRow(table, groups); identity != "" {
		names, err := viewColumns(table.Name)
		if err != nil {
			return "", err
		}
		query = fmt.Sprintf("SELECT %s FROM (\nSELECT numbered.*, row_number() OVER (PARTITION BY %s\n                           ORDER BY %s) AS choice FROM (\n%s\n) numbered\n) counted WHERE choice = 1",
			strings.Join(names, ", "), identity, order, query)
	}
	return fmt.Sprintf("%s%s\n%s%s\n\n", files.Declaration, to.Create(table.Name), query, to.End()), nil
}
