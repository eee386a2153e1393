package report_test

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

type parted struct {
	Name     string                `report:"name"`
	Period   trace.Optional[int64] `report:"period,duration"`
	Mean     int64                 `report:"mean,duration,short=MEAN"`
	Waiting  int64                 `report:"waiting_time,duration,short=WAIT"`
	Behind   string                `report:"longest_behind,below=longest behind,drop=1"`
	BehindBy trace.Optional[int64] `report:"longest_behind_time,duration,below=for,drop=1"`
}

// Where there is no room for all columns, titles and times are short, columns without a value go first, and what is
// shown below is not left out.
func TestNarrowTables(t *testing.T) {
	rows := []parted{
		{Name: "/planner", Mean: 12_640_000, Waiting: 5_521_000, Behind: "/map_server/callback_0", BehindBy: trace.Some[int64](82_390_000)},
		{Name: "/fusion", Mean: 1_020_000, Waiting: 999},
	}
	for _, test := range []struct {
		width          int
		table, missing string
	}{
		{0, `NAME      PERIOD      MEAN  WAITING TIME  LONGEST BEHIND          LONGEST BEHIND TIME
/planner       -  12.64 ms       5.52 ms  /map_server/callback_0             82.39 ms
/fusion        -   1.02 ms        999 ns  -                                         -
`, ""},
		{74, `NAME        MEAN    WAIT  LONGEST BEHIND          LONGEST BEHIND TIME
/planner  12.6ms  5.52ms  /map_server/callback_0             82.39 ms
/fusion   1.02ms   999ns  -                                         -
`, "1 column is left out (PERIOD) and times are rounded"},
		{60, `NAME        MEAN    WAIT  LONGEST BEHIND
/planner  12.6ms  5.52ms  /map_server/callback_0
    for 82.39 ms
/fusion   1.02ms   999ns  -
`, "1 column is left out (PERIOD) and times are rounded"},
		{30, `NAME        MEAN    WAIT
/planner  12.6ms  5.52ms
    longest behind
    /map_server/callback_0,
    for 82.39 ms
/fusion   1.02ms   999ns
`, "1 column is left out (PERIOD) and times are rounded"},
	} {
		screen := &report.Screen{Width: test.width}
		if got := narrow(t, screen, rows); got != test.table || screen.Missing() != test.missing {
			t.Errorf("in %d cells got\n%s%q, want\n%s%q", test.width, got, screen.Missing(), test.table, test.missing)
		}
	}
}

// A short time takes six cells, and rounds to the unit that fits.
func TestShortTimes(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0ns", 999: "999ns", 1000: "1.00µs", 9_994: "9.99µs", 9_996: "10.0µs", 99_960: "100µs", 999_600: "1.00ms", 12_640_000: "12.6ms",
		-2_500_000: "-2.50ms", 999_400_000_000: "999s", 12_345_000_000_000: "12345s",
	} {
		table := narrow(t, &report.Screen{Width: 8}, []struct {
			Time int64  `report:"time,duration,short=TIME"`
			Name string `report:"name_of_something"`
		}{{ns, "x"}})
		if lines := strings.Fields(table); lines[len(lines)-1] != want {
			t.Errorf("%d ns are\n%s, want %s", ns, table, want)
		}
	}
}
