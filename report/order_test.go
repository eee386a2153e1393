package report_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

type ordered struct {
	Name  string                `report:"name"`
	PID   int32                 `report:"pid,identifier"`
	Begin int64                 `report:"begin,time"`
	P99   trace.Optional[int64] `report:"p99,duration"`
	Rate  float64               `report:"rate"`
	Lost  uint64                `report:"lost,detail"`
	Exact bool                  `report:"exact"`
}

func TestSort(t *testing.T) {
	rows := []ordered{
		{"b", 3, 10, trace.Some(int64(5)), 1.5, 0, true},
		{"", 1, 30, trace.Optional[int64]{}, 2.5, 7, false},
		{"a", 2, 20, trace.Some(int64(9)), 0.5, 7, true},
	}
	for _, test := range []struct {
		by   report.Order
		want []int32 // the PIDs in their order
	}{
		{report.Order{Column: "p99"}, []int32{2, 3, 1}},
		{report.Order{Column: "p99", Reversed: true}, []int32{3, 2, 1}},
		{report.Order{Column: "name"}, []int32{2, 3, 1}},
		{report.Order{Column: "name", Reversed: true}, []int32{3, 2, 1}},
		{report.Order{Column: "pid"}, []int32{1, 2, 3}},
		{report.Order{Column: "begin"}, []int32{3, 2, 1}},
		{report.Order{Column: "rate"}, []int32{1, 3, 2}},
		{report.Order{Column: "lost"}, []int32{1, 2, 3}},
		{report.Order{Column: "exact"}, []int32{1, 3, 2}},
	} {
		sorted := slices.Clone(rows)
		if err := report.Sort(sorted, test.by, nil); err != nil {
			t.Fatal(err)
		}
		var got []int32
		for _, row := range sorted {
			got = append(got, row.PID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.by, got, test.want)
		}
	}
	if err := report.Sort(rows, report.Order{Column: "p98"}, nil); err == nil {
		t.Error("a column that there is not is taken")
	}
}

// Rows of one name stay together, in their order, where the first of them belongs.
func TestSortTogether(t *testing.T) {
	rows := []ordered{{Name: "a", Lost: 1}, {Name: "a", Lost: 9}, {Name: "b", Lost: 3}, {Name: "b", Lost: 2}, {Name: "c", Lost: 2}}
	if err := report.Sort(rows, report.Order{Column: "lost"}, func(a, b *ordered) bool { return a.Name == b.Name }); err != nil {
		t.Fatal(err)
	}
	want := []ordered{{Name: "b", Lost: 3}, {Name: "b", Lost: 2}, {Name: "c", Lost: 2}, {Name: "a", Lost: 1}, {Name: "a", Lost: 9}}
	if !slices.Equal(rows, want) {
		t.Errorf("got %+v", rows)
	}
}

func TestColumns(t *testing.T) {
	names, err := report.Columns[ordered]()
	if want := []string{"name", "pid", "begin", "p99", "rate", "lost", "exact"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := report.Columns[int](); err == nil {
		t.Error("a number has columns")
	}
}
