// Package lakeviews writes SQL that answers for a lake what the commands answer for a recording, in the dialects of
// several engines.
package lakeviews

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/dialect"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

// questionViews ask what the commands answer. They build on the tables' views. They are a template of package dialect.
//
//go:embed views.sql
var questionViews string

// Views returns the views of a lake in a dialect of SQL, which is one of analyze.Dialects: each table is a view of the
// same name, with the rows of recordings that are in the lake as a whole. A lake is a directory, or
// s3://BUCKET/PREFIX. keys are its partition keys; those of a directory are found if there are none, else they are
// lake.DefaultKeys. A table that the directory lacks is an empty view. Errors wrap analyze.ErrDialect,
// lake.ErrPartition, lake.ErrNotLake or ErrMixedKeys.
func Views(location, name string, keys []string) (string, error) {
	to := dialect.ByName(name)
	if to == nil {
		return "", fmt.Errorf("%w as %q: name one of %s", analyze.ErrDialect, name, strings.Join(analyze.Dialects(), ", "))
	}
	location, isLocal := strings.TrimRight(location, "/"), !strings.HasPrefix(location, "s3://")
	if isLocal {
		absolute, err := filepath.Abs(location)
		if err != nil {
			return "", fmt.Errorf("views of %s: %w", location, err)
		}
		location = absolute
		found, err := keysOf(location)
		if err != nil {
			return "", fmt.Errorf("views of %s: %w", location, err)
		}
		if len(keys) > 0 && len(found) > 0 && !slices.Equal(keys, found) {
			return "", fmt.Errorf("%w: its keys are %s, not %s", lake.ErrPartition, strings.Join(found, ", "), strings.Join(keys, ", "))
		}
		if len(keys) == 0 {
			keys = found
		}
	}
	if len(keys) == 0 {
		keys = lake.DefaultKeys
	}
	if err := lake.CheckKeys(keys); err != nil {
		return "", err
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "-- Views of a lake of caret-bpf for %s. Times are Unix nanoseconds.\n\n%s", to.Engine, to.Before)
	for _, table := range lake.Tables() {
		folder := location + "/" + table.Name
		exists := true
		if isLocal {
			var err error
			if exists, err = hasFiles(folder); err != nil {
				return "", fmt.Errorf("views of %s: %w", location, err)
			}
		}
		view, err := tableView(to, table, folder, exists, keys)
		if err != nil {
			return "", fmt.Errorf("views of %s: %w", location, err)
		}
		sql.WriteString(view)
	}
	questions, err := to.Render(questionViews, template.FuncMap{"keys": func() string { return strings.Join(leading(to, keys), ", ") }})
	if err != nil {
		return "", fmt.Errorf("views for %s: %w", to.Engine, err)
	}
	return sql.String() + questions, nil
}

// leading are the columns that all tables begin with.
func leading(to *dialect.Dialect, keys []string) []string {
	names := []string{"recording_id"}
	for _, key := range keys {
		names = append(names, to.Identifier(key))
	}
	return names
}

var types = map[trace.ColumnType]dialect.Type{
	trace.TypeBool: dialect.Boolean, trace.TypeInt32: dialect.Integer, trace.TypeInt64: dialect.BigInt, trace.TypeString: dialect.Text,
}

// tableView is the view of a table: what belongs to recordings that are there as a whole.
func tableView(to *dialect.Dialect, table lake.Table, folder string, exists bool, keys []string) (string, error) {
	columns := []dialect.Column{{Name: "recording_id", Type: dialect.Text}}
	for _, key := range keys {
		columns = append(columns, dialect.Column{Name: key, Type: dialect.Text})
	}
	for _, c := range table.Columns {
		if !c.IsOffset() {
			columns = append(columns, dialect.Column{Name: c.Name, Type: types[c.Type]})
		}
	}
	var names, nulls []string
	for _, c := range columns {
		names = append(names, to.Identifier(c.Name))
		nulls = append(nulls, to.Cast("NULL", c.Type)+" AS "+to.Identifier(c.Name))
	}
	if !exists {
		return fmt.Sprintf("-- There was no file of %s when this was written. When there is one, write the views anew: this one stays empty.\n%s\nSELECT * FROM (SELECT %s) nothing WHERE false%s\n\n", table.Name, to.Create(table.Name), strings.Join(nulls, ", "), to.End()), nil
	}
	files, err := to.Files(table.Name+"_files", dialect.Folder{Path: folder, Nested: true}, columns)
	if err != nil {
		return "", err
	}
	query := fmt.Sprintf("SELECT %s\nFROM %s", strings.Join(names, ", "), files.From)
	if table.Name != lake.TableRecording {
		query = ofWhole(to, names, files.From)
	}
	return files.Declaration + to.Create(table.Name) + "\n" + query + to.End() + "\n\n", nil
}

// ofWhole selects rows of recordings that are there as a whole. The table of recordings has to be listed before the
// files: a recording's row is put last, so whose row is listed then has all files in a list that is made later. In the
// other order a recording that is published meanwhile could be seen in part. Engines that do not list in order get
// the form that keeps the table of recordings, not that of the facts, in memory.
func ofWhole(to *dialect.Dialect, columns []string, files string) string {
	if !to.ListsInOrder() {
		return fmt.Sprintf("SELECT %s\nFROM %s\nWHERE recording_id IN (SELECT recording_id FROM %s)", strings.Join(columns, ", "), files, lake.TableRecording)
	}
	return fmt.Sprintf("SELECT %s\nFROM (SELECT DISTINCT recording_id FROM %s) whole JOIN %s f ON f.recording_id = whole.recording_id",
		to.Of("f", columns...), lake.TableRecording, files)
}
