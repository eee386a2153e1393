package trace_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Random rows have distinct addresses, so that dictionaries are large, and nulls in every column.
func TestSelectionOfRandomRows(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Random[trace.Callback](12_345, 7)
	tracetest.AddSegment(t, dir, 0, rows)
	for _, every := range []int{1, 2, 20, 3000} {
		t.Run(fmt.Sprintf("one in %d", every), func(t *testing.T) {
			callbacks, parents := make(trace.Addresses), make(trace.Addresses)
			for i := 0; i < len(rows); i += every {
				callbacks[rows[i].Callback] = true
				if parent := rows[(i+7)%len(rows)].ParentCallback; parent != 0 {
					parents[parent] = true
				}
			}
			testSelection(t, open(t, dir), rows, func(r *trace.Callback) bool { return callbacks[r.Callback] || parents[r.ParentCallback] },
				trace.Selection{{Column: "callback", Addresses: callbacks}, {Column: "parent_callback", Addresses: parents}})
			topic := func(name string) bool { return name > rows[every%len(rows)].TopicName }
			testSelection(t, open(t, dir), rows, func(r *trace.Callback) bool {
				return parents[r.ParentCallback] || r.TopicName != "" && topic(r.TopicName)
			},
				trace.Selection{{Column: "topic_name", Text: topic}, {Column: "parent_callback", Addresses: parents}})
		})
	}
}

// In synthetic rows addresses repeat, whole columns are without nulls or null, and some selected addresses occur in
// none of them.
func TestSelectionOfSyntheticRows(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Synthetic(20_000).Callbacks
	tracetest.AddSegment(t, dir, 0, rows)
	wanted := trace.Addresses{rows[100].Callback: true, rows[19_999].Callback: true, 1: true}
	testSelection(t, open(t, dir), rows, func(r *trace.Callback) bool { return wanted[r.Callback] }, trace.Selection{{Column: "callback", Addresses: wanted}})
	testSelection(t, open(t, dir), rows, func(*trace.Callback) bool { return false }, trace.Selection{{Column: "callback", Addresses: trace.Addresses{1: true}}})
	testSelection(t, open(t, dir), rows, func(*trace.Callback) bool { return false }, trace.Selection{{Column: "callback"}})
	testSelection(t, open(t, dir), rows, func(*trace.Callback) bool { return false }, trace.Selection{{Column: "no_such_column", Addresses: wanted}})
	is := func(name string) func(string) bool { return func(text string) bool { return text == name } }
	named := rows[slices.IndexFunc(rows, func(r trace.Callback) bool { return r.TopicName != "" })].TopicName
	testSelection(t, open(t, dir), rows, func(r *trace.Callback) bool { return r.TopicName == named }, trace.Selection{{Column: "topic_name", Text: is(named)}})
	testSelection(t, open(t, dir), rows, func(*trace.Callback) bool { return false }, trace.Selection{{Column: "topic_name", Text: is("/nowhere")}})
	testSelection(t, open(t, dir), rows, func(*trace.Callback) bool { return false }, trace.Selection{{Column: "no_such_column", Text: is("")}})
}

// What is selected in the last rows only is read although nothing was before them.
func TestSelectionAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Random[trace.Callback](4500, 8)
	for i := range rows {
		rows[i].Callback = trace.Address(0x1000 + i%10)
	}
	rows[len(rows)-1].Callback = 0x1005_0000
	rows[0].Callback = 0x2000_0000 // that it lies between
	tracetest.AddSegment(t, dir, 0, rows)
	wanted := trace.Addresses{0x1005_0000: true}
	testSelection(t, open(t, dir), rows, func(r *trace.Callback) bool { return wanted[r.Callback] }, trace.Selection{{Column: "callback", Addresses: wanted}})
}

func testSelection(t *testing.T, d *trace.Dataset, rows []trace.Callback, wanted func(*trace.Callback) bool, selection trace.Selection) {
	t.Helper()
	var want, got []trace.Callback
	for i := range rows {
		if wanted(&rows[i]) {
			want = append(want, rows[i])
		}
	}
	groups, err := trace.Groups(t.Context(), d, trace.TableCallback)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		before := len(got)
		if err := trace.ScanGroup(t.Context(), trace.TableCallback, g, selection, func(batch []trace.Callback) error {
			got = append(got, batch...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) > before && !g.MayHold(selection) {
			t.Error("a group holds what it may not hold")
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("row %d is\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
}

// A group is left out only where no row is selected.
func TestGroupsThatMayHold(t *testing.T) {
	dir := t.TempDir()
	var rows []trace.Enqueue
	for buffer := range trace.Address(10) {
		rows = append(rows, trace.Enqueue{Buffer: 0xffff_ffff_0000_0000 + 0x100*buffer})
	}
	tracetest.AddSegment(t, dir, 0, rows)
	groups, err := trace.Groups(t.Context(), open(t, dir), trace.TableEnqueue)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		column    string
		addresses []trace.Address
		want      bool
	}{
		{"buffer", []trace.Address{0xffff_ffff_0000_0000}, true},
		{"buffer", []trace.Address{1, 0xffff_ffff_0000_0900}, true},
		{"buffer", []trace.Address{0xffff_fffe_ffff_ffff, 0xffff_ffff_0000_0901}, false},
		{"buffer", []trace.Address{1}, false},
		{"buffer", nil, false},
		{"callback", []trace.Address{1}, false},
		{"no_such_column", []trace.Address{1}, false},
	} {
		set := make(trace.Addresses)
		for _, a := range c.addresses {
			set[a] = true
		}
		if got := groups[0].MayHold(trace.Selection{{Column: c.column, Addresses: set}}); got != c.want {
			t.Errorf("%s, %v: %v", c.column, c.addresses, got)
		}
	}
	if !groups[0].MayHold(nil) || slices.ContainsFunc(groups, func(g *trace.Group) bool { return !g.MayHold(trace.Selection{}) }) {
		t.Error("no condition leaves a group out")
	}
}
