// Package dialect writes SQL in the dialects of several engines from one source, a text/template. What engines call
// differently is an action of the template; all else is SQL that they share.
package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// Type is a type of columns.
type Type int

const (
	Boolean Type = iota
	Integer
	BigInt
	Double
	Text
)

// A Dialect is the SQL of an engine. Its forms are for fmt; their arguments are SQL.
type Dialect struct {
	// Name is how users name it.
	Name string
	// Engine is how its makers name it.
	Engine string
	// Before is what a script begins with: what has to be configured.
	Before string

	types    map[Type]string // those that may be null
	create   string          // of a view's name
	settings string          // at the end of a view
	cast     string          // of an expression, a type
	some     string          // one value of a group that is not null
	rank     string          // of an expression, a share, thousandths: the nearest-rank percentile
	divided  string          // of two integers, truncated
	last     string          // value of a window that is not null, of an expression
	each     string          // integer of two, both included, under a name: behind a table of which they are columns
	time     string          // of Unix nanoseconds
	escape   *strings.Replacer
	identify string // of a name that is a column's
	files    func(d *Dialect, name string, of Folder, columns string) Files
	renames  bool // the columns of joined tables, if they have no alias
	inOrder  bool // files are listed in the order of FROM, before any is read
}

var (
	doubledQuotes = strings.NewReplacer("'", "''")
	backslashes   = strings.NewReplacer(`\`, `\\`, "'", `\'`)
)

var all = []*Dialect{
	{
		Name: "duckdb", Engine: "DuckDB",
		types:  map[Type]string{Boolean: "BOOLEAN", Integer: "INTEGER", BigInt: "BIGINT", Double: "DOUBLE", Text: "VARCHAR"},
		create: "CREATE OR REPLACE VIEW %s AS", cast: "%s::%s",
		some: "any_value(%s)", rank: "quantile_disc(%[1]s, %[2]s)", divided: "(%s // %s)",
		last: "last_value(%s IGNORE NULLS)", each: "CROSS JOIN LATERAL (SELECT unnest(generate_series(%s, %s)) AS %s) each_number",
		time: "make_timestamp_ns(%s)", escape: doubledQuotes, identify: `"`, files: duckDBFiles, inOrder: true,
	},
	{
		Name: "spark", Engine: "Spark",
		types:  map[Type]string{Boolean: "BOOLEAN", Integer: "INT", BigInt: "BIGINT", Double: "DOUBLE", Text: "STRING"},
		create: "CREATE OR REPLACE TEMPORARY VIEW %s AS", cast: "CAST(%s AS %s)",
		some:    "any_value(%s, true)",
		rank:    "get(sort_array(collect_list(%[1]s)), CAST((count(%[1]s) * %[3]d + 999) div 1000 AS INT) - 1)",
		divided: "(%s div %s)",
		last:    "last_value(%s, true)", each: "LATERAL VIEW explode(sequence(%s, %s)) each_number AS %s",
		time: "timestamp_micros(%s div 1000)", escape: backslashes, identify: "`", files: sparkFiles, inOrder: true,
	},
	{
		Name: "clickhouse", Engine: "ClickHouse",
		types: map[Type]string{
			Boolean: "Nullable(Bool)", Integer: "Nullable(Int32)", BigInt: "Nullable(Int64)", Double: "Nullable(Float64)", Text: "Nullable(String)",
		},
		create: "CREATE OR REPLACE VIEW %s AS", cast: "CAST(%s AS %s)",
		// As in the SQL standard: what an outer join does not find is null, and a name means a column before an alias. What
		// is in a folder's name is in the files, too.
		settings: "\nSETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1, use_hive_partitioning = 0",
		some:     "any_value(%s)",
		rank:     "CASE WHEN count(%[1]s) > 0 THEN arraySort(groupArray(%[1]s))[intDiv(count(%[1]s) * %[3]d + 999, 1000)] END",
		divided:  "intDiv(%s, %s)",
		last:     "anyLast(%s)", each: "ARRAY JOIN range(toUInt64(assumeNotNull(%[1]s)), toUInt64(assumeNotNull(%[2]s)) + 1) AS %[3]s",
		time: "fromUnixTimestamp64Nano(%s, 'UTC')", escape: backslashes, renames: true, identify: `"`, files: clickHouseFiles,
	},
	{
		Name: "trino", Engine: "Trino",
		types:  map[Type]string{Boolean: "boolean", Integer: "integer", BigInt: "bigint", Double: "double", Text: "varchar"},
		create: "CREATE OR REPLACE VIEW %s AS", cast: "CAST(%s AS %s)",
		some:    "any_value(%s)",
		rank:    "element_at(array_sort(array_agg(%[1]s) FILTER (WHERE %[1]s IS NOT NULL)), (count(%[1]s) * %[3]d + 999) / 1000)",
		divided: "(%s / %s)",
		last:    "last_value(%s) IGNORE NULLS", each: "CROSS JOIN UNNEST(sequence(%s, %s)) AS each_number (%s)",
		time: "from_unixtime_nanos(%s)", escape: doubledQuotes, identify: `"`, files: trinoFiles,
		Before: `-- They need a schema of a catalog with the connector hive, named by USE or --schema, and in its configuration
-- hive.non-managed-table-writes-enabled=true, for a lake hive.recursive-directories=true (else it seems empty), and for files on the server's own disk
-- fs.native-local.enabled=true and local.location=/.

`,
	},
}

// ByName returns the dialect of that name, or nil.
func ByName(name string) *Dialect {
	for _, d := range all {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Names are the names of the dialects that there are.
func Names() []string {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return slices.Clip(names)
}

// Identifier is a name as a column's. It is quoted, because users choose names, too: each engine reserves other words.
func (d *Dialect) Identifier(name string) string {
	return d.identify + strings.ReplaceAll(name, d.identify, d.identify+d.identify) + d.identify
}

// Quote is a text as a literal.
func (d *Dialect) Quote(text string) string { return "'" + d.escape.Replace(text) + "'" }

// TypeName is a type's name, of columns that may be null.
func (d *Dialect) TypeName(of Type) string { return d.types[of] }

// Cast is an expression as a value of a type.
func (d *Dialect) Cast(expression string, to Type) string {
	return fmt.Sprintf(d.cast, expression, d.types[to])
}

// Time is the typed time of Unix nanoseconds. Spark's has microseconds.
func (d *Dialect) Time(nanoseconds string) string { return fmt.Sprintf(d.time, nanoseconds) }

// Of names columns of a table that is joined.
func (d *Dialect) Of(table string, columns ...string) string {
	var names []string
	for _, c := range columns {
		name := table + "." + c
		if d.renames {
			name += " AS " + c
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// ListsInOrder tells whether the files of a query are listed in the order of FROM, before any is read.
func (d *Dialect) ListsInOrder() bool { return d.inOrder }

// Create is what a view begins with.
func (d *Dialect) Create(view string) string { return fmt.Sprintf(d.create, view) }

// End is what a view ends with.
func (d *Dialect) End() string { return d.settings + ";" }
