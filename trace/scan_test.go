package trace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestReadReturnsTheRowsOfEveryTable(t *testing.T) {
	dir := t.TempDir()
	want, more := tracetest.RandomBatch(6_345, 1), tracetest.RandomBatch(1, 2)
	tracetest.AddSegments(t, dir, 0, want)
	tracetest.AddSegments(t, dir, 1, more)
	want.Append(more)
	d, got := open(t, dir), new(trace.Batch)
	for _, table := range trace.Registry() {
		t.Run(table.Name, func(t *testing.T) {
			if err := table.Read(t.Context(), d, got); err != nil {
				t.Fatal(err)
			}
			if got, want := got.Of(table), want.Of(table); !reflect.DeepEqual(got, want) {
				t.Errorf("%d rows are not the %d that were written", got.Len(), want.Len())
			}
		})
	}
}

func open(t testing.TB, dir string) *trace.Dataset {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, trace.SessionFile)); err != nil {
		tracetest.AddSession(t, dir, trace.NewSession())
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func scanAll[T any](t testing.TB, d *trace.Dataset) []T {
	t.Helper()
	rows, err := collect[T](t.Context(), d, trace.TableOf[T]().Name)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func collect[T any](ctx context.Context, d *trace.Dataset, table string) (all []T, err error) {
	err = trace.Scan(ctx, d, table, func(rows []T) error {
		all = append(all, rows...)
		return nil
	})
	return all, err
}

func TestNullIsNotZero(t *testing.T) {
	dir := t.TempDir()
	rows := []trace.Callback{
		{DequeueIndex: trace.Some(uint64(0)), Period: trace.Some(int64(0)), SourceTimestamp: trace.Some(int64(0)), IsIntraProcess: trace.Some(false)},
		{},
	}
	tracetest.AddSegment(t, dir, 0, rows)
	got := scanAll[trace.Callback](t, open(t, dir))
	if !reflect.DeepEqual(got, rows) {
		t.Errorf("got %+v, want %+v", got, rows)
	}
}

func TestScanOfSomeColumns(t *testing.T) {
	type columns struct {
		trace.ProcessKey
		End    trace.Optional[int64] `column:"callback_end_timestamp"`
		Symbol string                `column:"symbol,null"`
	}
	dir := t.TempDir()
	rows := tracetest.Random[trace.Callback](3000, 3)
	tracetest.AddSegment(t, dir, 0, rows)
	got, err := collect[columns](t.Context(), open(t, dir), trace.TableCallback)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if want := (columns{row.ProcessKey, row.CallbackEndTimestamp, row.Symbol}); got[i] != want {
			t.Fatalf("row %d is %+v, want %+v", i, got[i], want)
		}
	}
}

func TestScanRefusesColumnsThatTheTableDoesNotHave(t *testing.T) {
	type unknown struct {
		V int64 `column:"no_such_column"`
	}
	type otherType struct {
		V int32 `column:"callback_end_timestamp"`
	}
	type notNull struct {
		V int64 `column:"callback_end_timestamp"`
	}
	d := open(t, t.TempDir())
	check := func(name string, err error) {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := collect[unknown](t.Context(), d, trace.TableCallback)
	check("unknown column", err)
	_, err = collect[otherType](t.Context(), d, trace.TableCallback)
	check("other type", err)
	_, err = collect[notNull](t.Context(), d, trace.TableCallback)
	check("not nullable", err)
	if _, err = collect[trace.Callback](t.Context(), d, "no_such_table"); !errors.Is(err, trace.ErrUnknownTable) {
		t.Errorf("unknown table: %v", err)
	}
}

func TestScanStopsWithTheErrorOfItsCaller(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Clock](5000, 1))
	enough := errors.New("enough")
	calls := 0
	err := trace.Scan(t.Context(), open(t, dir), trace.TableClock, func([]trace.Clock) error {
		calls++
		return enough
	})
	if err != enough || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

func TestScanIsCancelled(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Clock](5000, 1))
	ctx, cancel := context.WithCancel(t.Context())
	err := trace.Scan(ctx, open(t, dir), trace.TableClock, func([]trace.Clock) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A segment of another format version, or one that another tool rewrote, may lack a column or have made it nullable.
func TestScanOfOtherSchemas(t *testing.T) {
	type older struct {
		MonotonicTimestamp int64 `parquet:"monotonic_timestamp"`
	}
	type widened struct {
		MonotonicTimestamp *int64 `parquet:"monotonic_timestamp"`
		RealtimeTimestamp  *int64 `parquet:"realtime_timestamp"`
		RealtimeOffset     *int64 `parquet:"realtime_offset"`
		Uncertainty        *int64 `parquet:"uncertainty"`
		Comment            string `parquet:"comment"`
	}
	type otherType struct {
		MonotonicTimestamp string `parquet:"monotonic_timestamp"`
	}
	seven := int64(7)
	missing := writeParquet(t, trace.TableClock, []older{{7}})
	if _, err := collect[trace.Clock](t.Context(), missing, trace.TableClock); !errors.Is(err, trace.ErrCorruptSegment) {
		t.Errorf("a required column is missing: %v", err)
	}
	rewritten := writeParquet(t, trace.TableClock, []widened{{&seven, &seven, &seven, &seven, "x"}})
	rows, err := collect[trace.Clock](t.Context(), rewritten, trace.TableClock)
	if want := []trace.Clock{{MonotonicTimestamp: 7, RealtimeTimestamp: 7, RealtimeOffset: 7, Uncertainty: 7}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("rewritten segment: %v, %v", rows, err)
	}
	strange := writeParquet(t, trace.TableClock, []otherType{{"7"}})
	if _, err := collect[trace.Clock](t.Context(), strange, trace.TableClock); !errors.Is(err, trace.ErrCorruptSegment) {
		t.Errorf("a column has another type: %v", err)
	}
	nullable := writeParquet(t, trace.TableLoss, []struct {
		Kind   string `parquet:"kind"`
		Reason string `parquet:"reason"`
		Count  uint64 `parquet:"count"`
		From   int64  `parquet:"from_timestamp"`
		To     int64  `parquet:"to_timestamp"`
	}{{"take", "ring_full", 3, 1, 2}})
	losses, err := collect[trace.Loss](t.Context(), nullable, trace.TableLoss)
	if want := []trace.Loss{{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 3, FromTimestamp: 1, ToTimestamp: 2}}; err != nil || !reflect.DeepEqual(losses, want) {
		t.Errorf("losses %v, %v", losses, err)
	}
}

func writeParquet[T any](t *testing.T, table string, rows []T) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, table), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(filepath.Join(dir, table, "a.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func TestADamagedSegmentDoesNotHideTheOthers(t *testing.T) {
	rows := tracetest.Random[trace.Publish](9000, 4)
	whole := tracetest.EncodeSegment(t, rows, 4000)
	pages := append([]byte{}, whole...)
	for i := len(pages) / 2; i < len(pages)/2+64; i++ {
		pages[i] ^= 0xff
	}
	cases := []struct {
		name    string
		content []byte
		want    error
	}{
		{"empty", nil, trace.ErrTruncatedSegment},
		{"only the magic", whole[:4], trace.ErrTruncatedSegment},
		{"without footer", whole[:len(whole)-3000], trace.ErrTruncatedSegment},
		{"last byte missing", whole[:len(whole)-1], trace.ErrTruncatedSegment},
		{"other file", []byte("this is no Parquet file at all"), trace.ErrCorruptSegment},
		{"pages overwritten", pages, trace.ErrCorruptSegment},
		{"footer overwritten", append(append([]byte{}, whole[:len(whole)-200]...), append(make([]byte, 192), whole[len(whole)-8:]...)...), trace.ErrCorruptSegment},
		{"footer too long", append(append([]byte{}, whole[:len(whole)-8]...), 0xff, 0xff, 0xff, 0xff, 'P', 'A', 'R', '1'), trace.ErrCorruptSegment},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			tracetest.AddSegment(t, dir, 0, rows)
			path := tracetest.AddSegment(t, dir, 1, rows[:1])
			tracetest.AddSegment(t, dir, 2, rows)
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := collect[trace.Publish](t.Context(), open(t, dir), trace.TablePublish)
			var damage *trace.DamageError
			if !errors.As(err, &damage) || len(damage.Segments) != 1 || !errors.Is(err, c.want) {
				t.Fatalf("error %v, want a DamageError with %v", err, c.want)
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name %s", err, path)
			}
			if len(got) < 2*len(rows) || !reflect.DeepEqual(got[:len(rows)], rows) || !reflect.DeepEqual(got[len(got)-len(rows):], rows) {
				t.Errorf("%d rows: those of the whole segments are not all there", len(got))
			}
		})
	}
}

// Pages carry checksums: whichever byte of them changes, a scan returns an error or the rows as they were. The table is
// one without nullable columns: these may be missing, as the one is whose name has changed.
func TestAChangedByteIsNoticed(t *testing.T) {
	rows := tracetest.Random[trace.Attribute](50, 5)
	whole := tracetest.EncodeSegment(t, rows, 1000)
	dir := t.TempDir()
	path := tracetest.AddSegment(t, dir, 0, rows)
	d := open(t, dir)
	for i := 0; i < len(whole); i += 3 {
		whole[i] ^= 0x10
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		whole[i] ^= 0x10
		got, err := collect[trace.Attribute](t.Context(), d, trace.TableAttribute)
		if err == nil && !reflect.DeepEqual(got, rows) {
			t.Errorf("byte %d of %d: other rows and no error", i, len(whole))
		}
	}
}
