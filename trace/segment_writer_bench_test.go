package trace_test

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

const (
	benchRows  = 100_000
	benchBatch = 500
	benchGroup = 50_000
)

// BenchmarkSegmentWriter compares package columnar with the Parquet library's GenericWriter for the same rows, columns
// and encodings: nanoseconds of processor time and bytes a row. The library gets rows of a struct with its own tags;
// making those is not measured, nor are the offsets of times, which are made already. The day that package columnar
// is not worth its lines is seen here.
func BenchmarkSegmentWriter(b *testing.B) {
	rows := tracetest.Synthetic(benchRows)
	b.Run(trace.TableCallback, func(b *testing.B) { compareWriters[libraryCallback](b, rows.Callbacks) })
	b.Run(trace.TablePublish, func(b *testing.B) { compareWriters[libraryPublish](b, rows.Publishes) })
}

// TestLibraryHasTheSameColumns: benchmarks are not run with every change.
func TestLibraryHasTheSameColumns(t *testing.T) {
	librarySchema[trace.Callback, libraryCallback](t)
	librarySchema[trace.Publish, libraryPublish](t)
}

func compareWriters[L, T any](b *testing.B, rows []T) {
	schema := librarySchema[T, L](b)
	theirs := libraryRows[L](rows)
	b.Run("columnar", func(b *testing.B) {
		w := trace.NewSegmentWriter(trace.TableOf[T](), columnar.NewCompressors())
		var batch trace.Rows[T]
		add := func(rows []T) error {
			batch = rows
			return w.Add(&batch)
		}
		measureWriter(b, rows, w.Begin, add, w.EndGroup, w.End)
	})
	b.Run("GenericWriter", func(b *testing.B) {
		w := parquet.NewGenericWriter[L](io.Discard, schema, parquet.Compression(compress.Codec(&zstd.Codec{Level: zstd.SpeedFastest})),
			parquet.PageBufferSize(64<<10), parquet.DictionaryMaxBytes(256<<10), parquet.DataPageVersion(2), parquet.DataPageStatistics(false))
		begin := func(out io.Writer) error { w.Reset(out); return nil }
		add := func(rows []L) error { _, err := w.Write(rows); return err }
		measureWriter(b, theirs, begin, add, w.Flush, w.Close)
	})
}

func measureWriter[T any](b *testing.B, rows []T, begin func(io.Writer) error, add func([]T) error, endGroup, end func() error) {
	b.ReportAllocs()
	var out counting
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	before := processorTime(b)
	for b.Loop() {
		out.bytes = 0
		must(begin(&out))
		for i := 0; i < len(rows); i += benchBatch {
			must(add(rows[i:min(i+benchBatch, len(rows))]))
			if (i+benchBatch)%benchGroup == 0 {
				must(endGroup())
			}
		}
		must(end())
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/float64(len(rows)), "cpu-ns/row")
	b.ReportMetric(float64(out.bytes)/float64(len(rows)), "B/row")
}

// processorTime is that of the process, in nanoseconds: it hardly depends on what else the machine does.
func processorTime(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// librarySchema is the table's schema, with its encodings. The library's struct has to have the same columns: of what
// its tags cannot say, the encoding of a pointer's values, the schema tells it.
func librarySchema[T, L any](tb testing.TB) *parquet.Schema {
	tb.Helper()
	types := map[trace.ColumnType]reflect.Type{
		trace.TypeBool: reflect.TypeFor[bool](), trace.TypeInt32: reflect.TypeFor[int32](), trace.TypeInt64: reflect.TypeFor[int64](),
		trace.TypeString: reflect.TypeFor[string](),
	}
	columns, row := trace.TableOf[T]().Columns, reflect.TypeFor[L]()
	fields := make([]reflect.StructField, len(columns))
	if row.NumField() != len(columns) {
		tb.Fatalf("%v has %d fields, the table %d columns", row, row.NumField(), len(columns))
	}
	for i := range columns {
		c := &columns[i]
		tag := c.Name
		if c.Nullable {
			tag += ",optional"
		}
		if name, _, _ := strings.Cut(row.Field(i).Tag.Get("parquet"), ","); name != c.Name {
			tb.Fatalf("field %d of %v is %q, want %q", i, row, name, c.Name)
		}
		switch c.Encoding {
		case trace.EncodingDictionary:
			tag += ",dict"
		case trace.EncodingDelta, trace.EncodingSmaller:
			tag += ",delta"
		}
		fields[i] = reflect.StructField{Name: row.Field(i).Name, Type: types[c.Type], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// libraryRows returns the rows as the library's struct.
func libraryRows[L, T any](rows trace.Rows[T]) []L {
	all := make([]L, len(rows))
	columns := trace.TableOf[T]().Columns
	for i := range columns {
		for row, value := range tracetest.Values(&columns[i], &rows) {
			field := reflect.ValueOf(&all[row]).Elem().Field(i)
			if value.IsNull() {
				continue
			}
			if field.Kind() == reflect.Pointer {
				field.Set(reflect.New(field.Type().Elem()))
				field = field.Elem()
			}
			switch columns[i].Type {
			case trace.TypeBool:
				field.SetBool(value.Boolean())
			case trace.TypeString:
				field.SetString(value.String())
			case trace.TypeInt32:
				field.SetInt(int64(value.Int32()))
			default:
				field.SetInt(value.Int64())
			}
		}
	}
	return all
}

type libraryCallback struct {
	BootID                       string `parquet:"boot_id,dict"`
	Pid                          int32  `parquet:"pid,dict"`
	ProcessStart                 int64  `parquet:"process_start,dict"`
	Tid                          int32  `parquet:"tid,dict"`
	CPU                          int32  `parquet:"cpu,dict"`
	Callback                     int64  `parquet:"callback,dict"`
	CallbackStartTimestamp       *int64 `parquet:"callback_start_timestamp,optional"`
	CallbackEndTimestamp         *int64 `parquet:"callback_end_timestamp,optional"`
	Status                       string `parquet:"status,dict"`
	Depth                        int32  `parquet:"depth,dict"`
	IsIntraProcess               *bool  `parquet:"is_intra_process,optional"`
	Kind                         string `parquet:"kind,optional,dict"`
	ParentCallback               int64  `parquet:"parent_callback,optional,dict"`
	ParentCallbackStartTimestamp *int64 `parquet:"parent_callback_start_timestamp,optional"`
	Message                      int64  `parquet:"message,optional,dict"`
	SourceTimestamp              *int64 `parquet:"source_timestamp,optional"`
	RmwSubscriptionHandle        int64  `parquet:"rmw_subscription_handle,optional,dict"`
	RmwTakeTimestamp             *int64 `parquet:"rmw_take_timestamp,optional"`
	RmwTakeOffset                *int64 `parquet:"rmw_take_offset,optional"`
	Buffer                       int64  `parquet:"buffer,optional,dict"`
	DequeueIndex                 *int64 `parquet:"dequeue_index,optional"`
	DequeueSize                  *int64 `parquet:"dequeue_size,optional"`
	DequeueTimestamp             *int64 `parquet:"dequeue_timestamp,optional"`
	DequeueOffset                *int64 `parquet:"dequeue_offset,optional"`
	SubscriptionHandle           int64  `parquet:"subscription_handle,optional,dict"`
	TopicName                    string `parquet:"topic_name,optional,dict"`
	NodeName                     string `parquet:"node_name,optional,dict"`
	Period                       *int64 `parquet:"period,optional"`
	Symbol                       string `parquet:"symbol,optional,dict"`
	PublisherGID                 string `parquet:"publisher_gid,optional,dict"`
	MessageTimestamp             *int64 `parquet:"message_timestamp,optional"`
	Provenance                   string `parquet:"provenance,dict"`
	Overhead                     *int64 `parquet:"overhead,optional"`
	EndCPU                       *int32 `parquet:"end_cpu,optional,dict"`
	CPUTime                      *int64 `parquet:"cpu_time,optional"`
	PreemptedTime                *int64 `parquet:"preempted_time,optional"`
	BlockedTime                  *int64 `parquet:"blocked_time,optional"`
	WakeupLatency                *int64 `parquet:"wakeup_latency,optional"`
	Preemptions                  *int32 `parquet:"preemptions,optional,dict"`
	Migrations                   *int32 `parquet:"migrations,optional,dict"`
}

type libraryPublish struct {
	BootID                      string `parquet:"boot_id,dict"`
	Pid                         int32  `parquet:"pid,dict"`
	ProcessStart                int64  `parquet:"process_start,dict"`
	Tid                         int32  `parquet:"tid,dict"`
	CPU                         int32  `parquet:"cpu,dict"`
	PublishNumber               int64  `parquet:"publish_number,delta"`
	PublisherHandle             int64  `parquet:"publisher_handle,optional,dict"`
	RmwPublisherHandle          int64  `parquet:"rmw_publisher_handle,optional,dict"`
	Message                     int64  `parquet:"message,optional,dict"`
	RclcppIntraPublishTimestamp *int64 `parquet:"rclcpp_intra_publish_timestamp,optional"`
	RclcppPublishTimestamp      *int64 `parquet:"rclcpp_publish_timestamp,optional"`
	RclPublishTimestamp         *int64 `parquet:"rcl_publish_timestamp,optional"`
	RclPublishOffset            *int64 `parquet:"rcl_publish_offset,optional"`
	RmwPublishTimestamp         *int64 `parquet:"rmw_publish_timestamp,optional"`
	RmwPublishOffset            *int64 `parquet:"rmw_publish_offset,optional"`
	SourceTimestamp             *int64 `parquet:"source_timestamp,optional"`
	DdsBindAddrToStampTimestamp *int64 `parquet:"dds_bind_addr_to_stamp_timestamp,optional"`
	DdsBindAddrToStampOffset    *int64 `parquet:"dds_bind_addr_to_stamp_offset,optional"`
	Status                      string `parquet:"status,dict"`
	EnqueueCount                int32  `parquet:"enqueue_count,dict"`
	Callback                    int64  `parquet:"callback,optional,dict"`
	CallbackStartTimestamp      *int64 `parquet:"callback_start_timestamp,optional"`
	Depth                       int32  `parquet:"depth,dict"`
	TopicName                   string `parquet:"topic_name,optional,dict"`
	NodeName                    string `parquet:"node_name,optional,dict"`
	IntraMessage                int64  `parquet:"intra_message,optional,dict"`
	Kind                        string `parquet:"kind,optional,dict"`
	MessageTimestamp            *int64 `parquet:"message_timestamp,optional"`
	Provenance                  string `parquet:"provenance,dict"`
}
