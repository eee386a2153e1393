package trace_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestTimesOfAColumn(t *testing.T) {
	rows := tracetest.RandomBatch(3000, 6)
	dir := t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	var published, stamped, enqueued []int64
	for _, row := range rows.Publishes {
		if at := row.RclcppPublishTimestamp; at.Valid {
			published = append(published, at.Value)
		}
		if at := row.DDSBindAddrToStampTimestamp; at.Valid {
			stamped = append(stamped, at.Value)
		}
	}
	for _, row := range rows.Enqueues {
		enqueued = append(enqueued, row.EnqueueTimestamp)
	}
	cases := map[string]struct {
		table, column string
		want          []int64
	}{
		"with nulls":                   {trace.TablePublish, "rclcpp_publish_timestamp", published},
		"as offsets from another time": {trace.TablePublish, "dds_bind_addr_to_stamp_timestamp", stamped},
		"without nulls":                {trace.TableEnqueue, "enqueue_timestamp", enqueued},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			groups, err := trace.Groups(t.Context(), open(t, dir), test.table)
			if err != nil || len(groups) != 1 {
				t.Fatal(groups, err)
			}
			var got []int64
			err = trace.ScanTimes(t.Context(), groups[0], test.column, func(times []int64) error {
				got = append(got, times...)
				return nil
			})
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%d times, %v; want %d", len(got), err, len(test.want))
			}
			for _, wrong := range []string{"status", "no_such"} {
				if err := trace.ScanTimes(t.Context(), groups[0], wrong, func([]int64) error { return nil }); err == nil {
					t.Errorf("column %s has times", wrong)
				}
			}
		})
	}
}

func TestColumnsNameTheTracepointsThatTheyShow(t *testing.T) {
	for _, test := range []struct{ table, column, want string }{
		{trace.TablePublish, "rmw_publish_timestamp", "dds_write"},
		{trace.TableNode, "init_timestamp", "rcl_node_init"},
		{trace.TablePublish, "callback_start_timestamp", ""},
	} {
		if got := trace.TableByName(test.table).Column(test.column).Tracepoint; got != test.want {
			t.Errorf("%s.%s shows %q, want %q", test.table, test.column, got, test.want)
		}
	}
}
