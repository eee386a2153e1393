// Package duckdb tests that DuckDB reads what the recorder writes. It is a module of its own, so that the recorder does
// not depend on DuckDB.
package duckdb

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// recordedDataset names a dataset to compare in TestRecordedDataset.
const recordedDataset = "CARET_BPF_DATASET"

func TestEveryTableIsWhatTheGoReaderReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 1000, SegmentBytes: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	const rows = 10_000
	if err := w.Write(tracetest.RandomBatch(rows, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	compared := compareDataset(t, dir)
	for _, table := range trace.Registry() {
		if compared[table.Name] != rows {
			t.Errorf("table %s: %d rows compared, want %d", table.Name, compared[table.Name], rows)
		}
	}
}

// Pages in which nulls and values alternate have another version than those in which they do not: a column may have
// both.
func TestPagesOfBothVersionsInOneColumn(t *testing.T) {
	const part = 40_000 // several pages, all of one row group
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	callbacks := make([]trace.Callback, 3*part)
	for i := range callbacks {
		callbacks[i] = trace.Callback{
			ProcessKey: trace.ProcessKey{BootID: "boot", PID: 1, ProcessStart: 2}, Callback: 1, Status: trace.CallbackComplete,
			CallbackStartTimestamp: trace.Some(int64(i) * 1_000_003),
		}
		// In some rows, in all, in none.
		if i/part == 1 || i/part == 0 && i%7%2 == 0 {
			callbacks[i].TopicName = fmt.Sprint("/topic", i%3)
			callbacks[i].SourceTimestamp = trace.Some(int64(i) * 999_983)
			callbacks[i].RMWTakeTimestamp = trace.Some(int64(i)*1_000_003 - int64(i%1000)*17)
			callbacks[i].Message = trace.Address(1<<40 + i)
		}
	}
	add(t, w, callbacks)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if compared := compareDataset(t, dir); compared[trace.TableCallback] != len(callbacks) {
		t.Errorf("%d rows compared, want %d", compared[trace.TableCallback], len(callbacks))
	}
}

// A process may be called anything. What is no UTF-8 would make the whole table unreadable.
func TestProcessWithoutAName(t *testing.T) {
	const invalid = "\xff\xfe\x80"
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	add(t, w, []trace.Process{{Command: invalid, Executable: "/bin/" + invalid, CommandLine: invalid + " -v"}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if compared := compareDataset(t, dir); compared[trace.TableProcess] != 1 {
		t.Errorf("%d rows compared, want 1", compared[trace.TableProcess])
	}
}

func TestRecordedDataset(t *testing.T) {
	dir := os.Getenv(recordedDataset)
	if dir == "" {
		t.Skipf("%s names no dataset", recordedDataset)
	}
	for table, rows := range compareDataset(t, dir) {
		t.Logf("%s: %d rows", table, rows)
	}
}

// Two messages may be stamped one nanosecond apart: a reader that rounds times to microseconds joins each with both.
func TestPublishesJoinCallbacksToTheNanosecond(t *testing.T) {
	const stamp = int64(1_760_000_000_123_456_789)
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var publishes []trace.Publish
	var callbacks []trace.Callback
	for i := range int64(2) {
		publishes = append(publishes, trace.Publish{
			PublishNumber: uint64(i), TopicName: "/chatter", SourceTimestamp: trace.Some(stamp + i),
			RclcppPublishTimestamp: trace.Some(stamp - 2000 + i), Status: trace.PublishComplete,
		})
		callbacks = append(callbacks, trace.Callback{
			Callback: 0x1000, TopicName: "/chatter", SourceTimestamp: trace.Some(stamp + i), Status: trace.CallbackComplete,
			CallbackStartTimestamp: trace.Some(stamp + 1_000_000 + 7*i),
		})
	}
	callbacks = append(callbacks, trace.Callback{TopicName: "/chatter", Status: trace.CallbackStartMissing}) // null joins nothing
	add(t, w, publishes)
	add(t, w, callbacks)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	rows, err := openDuckDB(t).Query(fmt.Sprintf(`
		SELECT publish_number, c.callback_start_timestamp - rclcpp_publish_timestamp
		FROM '%[1]s/publish/*.parquet' p JOIN '%[1]s/callback/*.parquet' c USING (topic_name, source_timestamp)
		ORDER BY publish_number`, dir))
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int64
	for rows.Next() {
		var pair [2]int64
		if err := rows.Scan(&pair[0], &pair[1]); err != nil {
			t.Fatal(err)
		}
		got = append(got, pair)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if want := [][2]int64{{0, 1_002_000}, {1, 1_002_006}}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("publish number and latency %v, want %v", got, want)
	}
}

func add[T any](t *testing.T, w *writer.Writer, rows []T) {
	t.Helper()
	if err := w.Write(tracetest.BatchOf(rows)); err != nil {
		t.Fatal(err)
	}
}

func openDuckDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// compareDataset reads the closed segments of every table with DuckDB and with the Go reader, compares types and
// values, and returns the number of rows by table.
func compareDataset(t *testing.T, dir string) map[string]int {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t)
	compared := make(map[string]int)
	for _, table := range trace.Registry() {
		compared[table.Name] = compareTable(t, db, d, table)
	}
	return compared
}

func compareTable(t *testing.T, db *sql.DB, d *trace.Dataset, table *trace.Table) (compared int) {
	t.Helper()
	segments, _, err := d.Segments(table.Name)
	if err != nil {
		t.Fatal(err)
	}
	if len(segments) == 0 {
		return 0
	}
	// The names stand unquoted: none is a word that SQL reserves.
	var names []string
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	rows, err := db.Query(fmt.Sprintf("SELECT %s FROM read_parquet('%s', filename = true, file_row_number = true) ORDER BY filename, file_row_number",
		strings.Join(names, ", "), filepath.Join(d.Dir(), table.Name, "*.parquet")))
	if err != nil {
		t.Fatalf("table %s: %v", table.Name, err)
	}
	defer func() { _ = rows.Close() }()
	compareTypes(t, table, rows)
	checkMetadata(t, db, d, table, len(segments))

	fields := make([]any, len(table.Columns))
	pointers := make([]any, len(fields))
	for i := range fields {
		pointers[i] = &fields[i]
	}
	read := new(trace.Batch)
	if err := table.Read(t.Context(), d, read); err != nil {
		t.Errorf("table %s: %v", table.Name, err)
	}
	columns := make([][]parquet.Value, len(table.Columns))
	for i := range columns {
		columns[i] = tracetest.Values(&table.Columns[i], read.Of(table))
	}
	for ; compared < read.Of(table).Len(); compared++ {
		if !rows.Next() {
			t.Errorf("table %s: DuckDB has only %d rows: %v", table.Name, compared, rows.Err())
			return compared
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		for i, field := range fields {
			if want := goValue(table.Columns[i].Type, columns[i][compared]); field != want {
				t.Errorf("table %s, row %d, column %s: DuckDB reads %v, Go %v", table.Name, compared, table.Columns[i].Name, field, want)
				return compared
			}
		}
	}
	if rows.Next() {
		t.Errorf("table %s: DuckDB has more than %d rows", table.Name, compared)
	}
	return compared
}

// checkMetadata looks for each column of each segment in the footers, as DuckDB reads them.
func checkMetadata(t *testing.T, db *sql.DB, d *trace.Dataset, table *trace.Table, segments int) {
	t.Helper()
	for _, column := range table.Columns {
		var found int
		err := db.QueryRow(fmt.Sprintf("SELECT count(DISTINCT file_name) FROM parquet_metadata('%s') WHERE path_in_schema = '%s'",
			filepath.Join(d.Dir(), table.Name, "*.parquet"), column.Name)).Scan(&found)
		if err != nil || found != segments {
			t.Errorf("table %s: column %s is in the metadata of %d segments of %d, %v", table.Name, column.Name, found, segments, err)
		}
	}
}

func compareTypes(t *testing.T, table *trace.Table, rows *sql.Rows) {
	t.Helper()
	names := map[trace.ColumnType]string{
		trace.TypeBool: "BOOLEAN", trace.TypeInt32: "INTEGER", trace.TypeInt64: "BIGINT",
		trace.TypeString: "VARCHAR",
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	for i, column := range table.Columns {
		if got := types[i].DatabaseTypeName(); got != names[column.Type] {
			t.Errorf("table %s, column %s: DuckDB has type %s, want %s", table.Name, column.Name, got, names[column.Type])
		}
	}
}

// goValue returns a value as database/sql gives it.
func goValue(t trace.ColumnType, v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	switch t {
	case trace.TypeBool:
		return v.Boolean()
	case trace.TypeInt32:
		return v.Int32()
	case trace.TypeInt64:
		return v.Int64()
	default:
		return string(v.ByteArray())
	}
}

// TestDocumentedQueries runs the queries of docs/dataset.md.
func TestDocumentedQueries(t *testing.T) {
	text, err := os.ReadFile("../../docs/dataset.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?);?\n```").FindAllStringSubmatch(string(text), -1)
	var queries []string
	for _, block := range blocks {
		queries = append(queries, strings.Split(block[1], ";\n")...)
	}
	if len(blocks) < 2 || len(queries) < 5 {
		t.Fatalf("docs/dataset.md has %d queries in %d blocks", len(queries), len(blocks))
	}
	dir := filepath.Join(t.TempDir(), "trace")
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := tracetest.Synthetic(2000)
	add(t, w, rows.Callbacks)
	add(t, w, rows.Publishes)
	add(t, w, []trace.OpenCallback{{ProcessKey: rows.Callbacks[0].ProcessKey, CallbackStartTimestamp: 1, SeenTimestamp: 2}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t)
	for _, query := range queries {
		var results int
		query = strings.ReplaceAll(query, "'trace/", "'"+dir+"/")
		if err := db.QueryRow("SELECT count(*) FROM (" + query + ")").Scan(&results); err != nil || results == 0 {
			t.Errorf("%d rows, %v from %s", results, err, query)
		}
	}
}
