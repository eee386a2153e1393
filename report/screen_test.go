package report_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/report"
)

// narrow writes rows as a table that fits a screen.
func narrow[T any](t *testing.T, screen *report.Screen, rows []T) string {
	t.Helper()
	var out bytes.Buffer
	w, err := report.NewTableWriter[T](&out, screen)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "/points": 7, "点云": 4, "e\u0301te\u0301": 3, "µs": 2, "…": 1, "한글": 4} {
		if got := report.Width(text); got != want {
			t.Errorf("%q takes %d cells, want %d", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"/points", 7, "/points"},
		{"/perception/lidar/top/points", 20, "/perception/…/points"},
		{"/perception/lidar/top/points", 24, "/perception/…/top/points"},
		{"/perception/lidar/top/points", 12, "/perc…points"},
		{"subscription", 7, "sub…ion"},
		{"[/talker]-[/chatter]-[/listener]", 24, "[/talker]-[/…/listener]"},
		{"点云点云点云", 7, "点…点云"},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301…e\u0301"},
		{"anything", 1, "…"},
		{"anything", 0, ""},
	} {
		if got := report.Shorten(test.text, test.width); got != test.want {
			t.Errorf("%q in %d cells is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

type latency struct {
	Node  string `report:"node_name"`
	Count int    `report:"count"`
	Mean  int64  `report:"mean,duration,drop=2"`
	P50   int64  `report:"p50,duration,drop=1"`
	P99   int64  `report:"p99,duration"`
}

// What has an order goes first, then the last columns; names are shortened before.
func TestColumnsAreLeftOutByPriority(t *testing.T) {
	rows := []latency{{"/perception/lidar/top/points", 7, 1000, 2000, 3000}}
	for _, test := range []struct {
		width          int
		table, missing string
	}{
		{0, "NODE NAME                     COUNT     MEAN      P50      P99\n/perception/lidar/top/points      7  1.00 µs  2.00 µs  3.00 µs\n", ""},
		{60, "NODE NAME                   COUNT     MEAN      P50      P99\n/perception/…/top/points        7  1.00 µs  2.00 µs  3.00 µs\n", "names are shortened"},
		{50, "NODE NAME                  COUNT     MEAN      P99\n/perception/…/top/points       7  1.00 µs  3.00 µs\n", "1 column is left out (P50) and names are shortened"},
		{40, "NODE NAME                 COUNT      P99\n/perception/…/top/points      7  3.00 µs\n", "2 columns are left out (MEAN, P50) and names are shortened"},
		{24, "NODE NAME          COUNT\n/percept…p/points      7\n", "3 columns are left out (MEAN, P50, P99) and names are shortened"},
		{10, "NODE NAME\n/per…oints\n", "4 columns are left out (COUNT, MEAN, P50, P99) and names are shortened"},
	} {
		t.Run(fmt.Sprint(test.width), func(t *testing.T) {
			screen := &report.Screen{Width: test.width}
			got := narrow(t, screen, rows)
			if got != test.table || screen.Missing() != test.missing {
				t.Errorf("got\n%swant\n%s%q, want %q", got, test.table, screen.Missing(), test.missing)
			}
		})
	}
}

// A heading stands once above its rows, and a cell that would repeat it is empty. It is never shortened.
func TestHeading(t *testing.T) {
	type hop struct {
		Path string `report:"path,heading"`
		Name string `report:"node_name"`
		Hop  int    `report:"hop"`
	}
	path := "[/talker]-[/chatter]-[/listener]"
	rows := []hop{{path, path, 0}, {path, "/chatter", 1}, {"[/b]", "/b", 0}}
	for width, want := range map[int][]string{
		0:  {"NODE NAME", path, "", "/chatter", "[/b]", "/b"},
		22: {"NODE NAME", "[/talker]-[/chatter]-", "[/listener]", "", "/chatter", "[/b]", "/b"},
	} {
		var got []string
		for line := range strings.Lines(narrow(t, &report.Screen{Width: width}, rows)) {
			name, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "  ")
			got = append(got, name)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("in %d cells: %q, want %q", width, got, want)
		}
	}
}

// Names that are shortened do not become the same.
func TestDifferentNamesStayDifferent(t *testing.T) {
	type line struct {
		Topic string `report:"topic_name"`
		Count int    `report:"count"`
	}
	var rows []line
	for lidar := range 20 {
		for _, topic := range []string{"points", "objects", "tracks"} {
			rows = append(rows, line{fmt.Sprintf("/perception/lidar_%d/obstacle_segmentation/%s", lidar, topic), 1})
		}
	}
	for width := 24; width < 60; width++ {
		seen := make(map[string]bool)
		for text := range strings.Lines(narrow(t, &report.Screen{Width: width}, rows)) {
			if seen[text] {
				t.Errorf("in %d cells two topics are %q", width, text)
			}
			seen[text] = true
		}
	}
	if got := narrow(t, &report.Screen{Width: 30}, rows[:6]); !strings.Contains(got, "…/lidar_1/…/points") {
		t.Errorf("got\n%s", got)
	}
}

// Prose is broken into lines, of which each stays in its column.
func TestProse(t *testing.T) {
	var out bytes.Buffer
	screen := &report.Screen{Width: 36}
	err := report.Aligned(&out, screen, []string{"WHAT", "STATE", "REMEDY|"}, [][]string{{"BTF", "MISSING", "build the kernel with it"}, {"uprobes", "works", ""}})
	want := "WHAT     STATE    REMEDY\nBTF      MISSING  build the kernel\n                  with it\nuprobes  works\n"
	if err != nil || out.String() != want || screen.Missing() != "" {
		t.Errorf("%v, %q, got\n%s\nwant\n%s", err, screen.Missing(), out.String(), want)
	}
}

// No table is wider than its screen, whatever is in it, and the first column is always there.
func TestTablesFit(t *testing.T) {
	type line struct {
		Path    string `report:"path,heading"`
		Name    string `report:"node_name"`
		Topic   string `report:"topic_name,drop=2"`
		Begin   int64  `report:"begin_timestamp,time,drop=1"`
		Latency int64  `report:"latency,duration"`
		Why     string `report:"why,prose"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		var text strings.Builder
		for range random.IntN(8) {
			text.WriteString("/" + strings.Repeat([]string{"a", "点", "e\u0301", "_", "]-["}[random.IntN(5)], random.IntN(12)))
		}
		return text.String()
	}
	for range 300 {
		width := 8 + random.IntN(200)
		var rows []line
		for range random.IntN(30) {
			rows = append(rows, line{name(), name(), name(), random.Int64(), random.Int64N(1 << random.IntN(50)), strings.ReplaceAll(name(), "/", " ")})
		}
		table := narrow(t, &report.Screen{Width: width}, rows)
		for text := range strings.Lines(table) {
			if got := report.Width(strings.TrimSuffix(text, "\n")); got > width {
				t.Fatalf("a line of %d cells on a screen of %d: %q", got, width, text)
			}
		}
		if !strings.HasPrefix(table, "NODE") {
			t.Fatalf("on a screen of %d cells:\n%s", width, table)
		}
	}
}

// Rows beyond those that decide the widths fit, too.
func TestLongTablesFit(t *testing.T) {
	type line struct {
		N    int    `report:"n"`
		Name string `report:"name"`
	}
	var rows []line
	for i := range 3000 {
		rows = append(rows, line{i, strings.Repeat("x", i/20)})
	}
	for text := range strings.Lines(narrow(t, &report.Screen{Width: 40}, rows)) {
		if report.Width(strings.TrimSuffix(text, "\n")) > 40 {
			t.Fatalf("too wide: %q", text)
		}
	}
}

func TestUnfitOptions(t *testing.T) {
	var out bytes.Buffer
	for name, err := range map[string]error{
		"no order": report.Write(&out, report.Table, []struct {
			A int `report:"a,drop=x"`
		}{{1}}),
		"a number as heading": report.Write(&out, report.Table, []struct {
			A int `report:"a,heading"`
		}{{1}}),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
