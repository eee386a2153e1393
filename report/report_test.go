package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

type key struct {
	PID int32 `report:"pid,identifier,detail"`
}

type row struct {
	key
	Name     string                 `report:"node_name"`
	Latency  int64                  `report:"latency,duration"`
	Begin    trace.Optional[int64]  `report:"begin_timestamp,time"`
	Rate     float64                `report:"rate"`
	Lost     trace.Optional[uint64] `report:"lost"`
	Share    float64                `report:"share,percent"`
	Callback trace.Address          `report:"callback"`
	Exact    bool                   `report:"exact"`
	hidden   string
}

func rows() []row {
	return []row{
		{key{1}, "/a\x1b[2J", 1_500_000, trace.Some(int64(1_600_000_000_123_456_789)), 9.96, trace.Some(uint64(1234)), 12.34, 0x7f00, true, "x"},
		{key{2}, "", -20, trace.Optional[int64]{}, 0, trace.Optional[uint64]{}, 0, 0, false, ""},
	}
}

func write[T any](t *testing.T, format report.Format, rows []T) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Write(&out, format, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	want := "" +
		"NODE NAME  LATENCY                    BEGIN TIMESTAMP    RATE   LOST   SHARE  CALLBACK  EXACT\n" +
		"/a\\x1b[2J  1.50 ms  2020-09-13 12:26:40.123456789 UTC  10.0/s  1,234  12.3 %  0x7f00    yes\n" +
		"-           -20 ns                                  -   0.0/s      -  0.00 %  0x0       no\n"
	if got := write(t, report.Table, rows()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A sparse column is in a table only if it has a value, and in all other forms in any case.
func TestSparseColumn(t *testing.T) {
	type line struct {
		Name   string                `report:"name"`
		Within trace.Optional[int64] `report:"within,duration,sparse"`
		Count  uint64                `report:"count"`
	}
	without, with := []line{{Name: "a"}, {Name: "b", Count: 7}}, []line{{Name: "a"}, {Name: "b", Within: trace.Some(int64(5)), Count: 7}}
	for want, rows := range map[string][]line{
		"NAME  COUNT\na         0\nb         7\n":                         without,
		"NAME  WITHIN  COUNT\na          -      0\nb       5 ns      7\n": with,
		"NAME  COUNT\n": nil,
	} {
		if got := write(t, report.Table, rows); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if got := write(t, report.CSV, without); got != "name,within,count\na,,0\nb,,7\n" {
		t.Errorf("got %s", got)
	}
}

// grouped has another row's columns behind one of its own.
type grouped struct {
	Group string `report:"group"`
	Row   row    `report:",inline"`
}

func TestRowWithinARow(t *testing.T) {
	header, line, _ := strings.Cut(write(t, report.CSV, []grouped{{"a", rows()[0]}}), "\n")
	plainHeader, plainLine, _ := strings.Cut(write(t, report.CSV, rows()[:1]), "\n")
	if header != "group,"+plainHeader || line != "a,"+plainLine {
		t.Errorf("got\n%s\n%s", header, line)
	}
}

// Rows beyond those that decide the widths are written as they come.
func TestLongTable(t *testing.T) {
	type line struct {
		N int `report:"n"`
	}
	var many []line
	for i := range 2500 {
		many = append(many, line{i})
	}
	lines := strings.Fields(write(t, report.Table, many))
	if len(lines) != 2501 || lines[0] != "N" || lines[2500] != "2,499" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestCSV(t *testing.T) {
	want := "pid,node_name,latency,begin_timestamp,rate,lost,share,callback,exact\n" +
		"1,/a\\x1b[2J,1500000,1600000000123456789,9.96,1234,12.34,0x7f00,true\n" +
		"2,,-20,,0,,0,0x0,false\n"
	if got := write(t, report.CSV, rows()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Numbers that only tell things apart are not grouped by thousands.
func TestIdentifiers(t *testing.T) {
	type line struct {
		PID   int32 `report:"pid,identifier"`
		Count int32 `report:"count"`
	}
	want := " PID  COUNT\n4200  4,200\n"
	if got := write(t, report.Table, []line{{4200, 4200}}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Spreadsheets run what begins like a formula. Numbers do not, also in text.
func TestFormulasInCSV(t *testing.T) {
	type cell struct {
		Text   string  `report:"text"`
		Number float64 `report:"number"`
	}
	cells := []cell{{"=1+1", -1.5}, {"+1+1", 0}, {"-cmd|'/C calc'!A0", 0}, {"@SUM(A1)", 0}, {"\t=1+1", 0}, {"\r=1+1", 0}, {"-1.5", 0}, {"+2", 0}, {"/a=b", 0}, {"a-b", 0}}
	want := "text,number\n'=1+1,-1.5\n'+1+1,0\n'-cmd|'/C calc'!A0,0\n'@SUM(A1),0\n\\t=1+1,0\n\\r=1+1,0\n-1.5,0\n+2,0\n/a=b,0\na-b,0\n"
	if got := write(t, report.CSV, cells); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := write(t, report.CSVWithFormulas, cells); got != strings.ReplaceAll(want, "\n'", "\n") {
		t.Errorf("with formulas: got\n%s", got)
	}
}

func TestJSON(t *testing.T) {
	var got []map[string]any
	text := write(t, report.JSON, rows())
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := "[map[begin_timestamp:1.6000000001234568e+18 callback:0x7f00 exact:true latency:1.5e+06 lost:1234 node_name:/a\x1b[2J pid:1 rate:9.96 share:12.34] " +
		"map[begin_timestamp:<nil> callback:0x0 exact:false latency:-20 lost:<nil> node_name:<nil> pid:2 rate:0 share:0]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if got := write(t, report.JSON, []row{}); got != "[]\n" {
		t.Errorf("no rows are %q", got)
	}
}

func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.parquet")
	many := rows()
	for len(many) < 70_000 {
		many = append(many, rows()...)
	}
	if err := report.WriteParquet(path, nil, many); err != nil {
		t.Fatal(err)
	}
	type stored struct {
		PID      int32   `parquet:"pid"`
		Name     *string `parquet:"node_name,optional"`
		Latency  int64   `parquet:"latency"`
		Begin    *int64  `parquet:"begin_timestamp,optional"`
		Rate     float64 `parquet:"rate"`
		Lost     *int64  `parquet:"lost,optional"`
		Share    float64 `parquet:"share"`
		Callback int64   `parquet:"callback"`
		Exact    bool    `parquet:"exact"`
	}
	got, err := parquet.ReadFile[stored](path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(many) {
		t.Fatalf("%d rows, want %d", len(got), len(many))
	}
	a, b := got[len(got)-2], got[len(got)-1]
	if *a.Name != "/a\x1b[2J" || a.Latency != 1_500_000 || *a.Begin != 1_600_000_000_123_456_789 || *a.Lost != 1234 || a.Callback != 0x7f00 || !a.Exact || a.PID != 1 {
		t.Errorf("got %+v", a)
	}
	if b.Name != nil || b.Begin != nil || b.Lost != nil || b.Latency != -20 || b.Exact {
		t.Errorf("got %+v", b)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left) > 0 {
		t.Errorf("%v were left", left)
	}
}

// Not every reader has unsigned types, nor every encoding.
func TestParquetHasOnlyWhatEveryReaderReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.parquet")
	if err := report.WriteParquet(path, nil, rows()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, element := range file.Metadata().Schema {
		if integer, ok := element.LogicalType.Value.(*format.IntType); ok && !integer.IsSigned {
			t.Errorf("column %s is unsigned", element.Name)
		}
	}
	known := []format.Encoding{format.Plain, format.RLE, format.RLEDictionary, format.DeltaBinaryPacked}
	for _, group := range file.Metadata().RowGroups {
		for _, column := range group.Columns {
			for _, encoding := range column.MetaData.Encoding {
				if !slices.Contains(known, encoding) {
					t.Errorf("column %v has encoding %v", column.MetaData.PathInSchema, encoding)
				}
			}
		}
	}
}

func TestParquetTextIsUTF8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.parquet")
	if err := report.WriteParquet(path, nil, []row{{Name: "/a\xff\xfe\x80b"}}); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.ReadFile[struct {
		Name string `parquet:"node_name,optional"`
	}](path)
	if err != nil || len(got) != 1 || got[0].Name != "/a\ufffdb" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestParquetFails(t *testing.T) {
	err := report.WriteParquet(filepath.Join(t.TempDir(), "missing", "out.parquet"), nil, rows())
	if !os.IsNotExist(err) && !strings.Contains(fmt.Sprint(err), "no such file") {
		t.Errorf("got %v", err)
	}
}

// What makes no column is an error, not an empty report.
func TestUnfitTypes(t *testing.T) {
	var out bytes.Buffer
	for name, err := range map[string]error{
		"no struct":  report.Write(&out, report.Table, []int{1}),
		"no columns": report.Write(&out, report.Table, []struct{ A int }{{1}}),
		"wrong kind": report.Write(&out, report.Table, []struct {
			A string `report:"a,duration"`
		}{{"x"}}),
		"unknown type": report.Write(&out, report.Table, []struct {
			A []int `report:"a"`
		}{{}}),
		"unknown format": report.Write(&out, "xml", rows()),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", -999: "-999 ns", 1_000: "1.00 µs", 1_500_000: "1.50 ms", -1_500_000: "-1.50 ms", 2_500_000_000: "2.50 s",
		10_030_000: "10.03 ms", 10_040_000: "10.04 ms",
		99_994: "99.99 µs", 99_995: "100.0 µs", 999_949: "999.9 µs", 999_950: "1.00 ms", -999_950: "-1.00 ms",
		99_994_999: "99.99 ms", 99_995_000: "100.0 ms", 999_949_999: "999.9 ms", 999_950_000: "1.00 s",
		99_994_999_999: "99.99 s", 99_995_000_000: "100.0 s", 999_949_999_999: "999.9 s", 999_950_000_000: "1,000 s",
		-1 << 63: "-9,223,372,037 s",
	} {
		if got := report.Duration(ns); got != want {
			t.Errorf("%d is shown as %q, want %q", ns, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000", -1234: "-1,234", -1 << 63: "-9,223,372,036,854,775,808"} {
		if got := report.Count(n); got != want {
			t.Errorf("%d is shown as %q, want %q", n, got, want)
		}
	}
}

// Of a report that fails before its first row nothing is left, not even a header.
func TestDiscardedBeforeTheFirstRow(t *testing.T) {
	type row struct {
		Name string `report:"name"`
	}
	for _, format := range []report.Format{report.Table, report.CSV, report.JSON} {
		for rows, want := range map[int]bool{0: false, 1: true} {
			var out bytes.Buffer
			w, err := report.NewWriter[row](&out, format)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(make([]row, rows)), w.Discard()); err != nil || (out.Len() > 0) != want {
				t.Errorf("%v with %d rows: %q, %v", format, rows, out.String(), err)
			}
		}
	}
}

// JSONRows have the names and the values that the format JSON has, in the order of the columns.
func TestJSONRows(t *testing.T) {
	var want []map[string]any
	if err := json.Unmarshal([]byte(write(t, report.JSON, rows())), &want); err != nil {
		t.Fatal(err)
	}
	got, err := report.NewJSONRows(rows())
	if err != nil {
		t.Fatal(err)
	}
	columns, err := report.Columns[row]()
	if err != nil || !slices.Equal(got.Columns, columns) || len(got.Rows) != len(want) {
		t.Fatalf("columns %v, want %v; %d rows (%v)", got.Columns, columns, len(got.Rows), err)
	}
	for i, values := range got.Rows {
		for k, column := range got.Columns {
			var value any
			if err := json.Unmarshal(values[k], &value); err != nil || value != want[i][column] {
				t.Errorf("row %d, %s is %s, want %v (%v)", i, column, values[k], want[i][column], err)
			}
		}
	}
	if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), "\x1b") {
		t.Errorf("%s, %v", text, err)
	}
	if none, err := report.NewJSONRows([]row(nil)); err != nil || none.Rows == nil {
		t.Errorf("without rows: %v, %v", none, err)
	}
	if _, err := report.NewJSONRows([]struct{ A int }{{1}}); err == nil {
		t.Error("rows without columns are taken")
	}
}
