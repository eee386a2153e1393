package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caret-bpf/caret-bpf/chart"
)

const (
	ms    = int64(1e6)
	begin = int64(1_790_000_000_000_000_000)
)

// histogram has ten values around 10 ms, and one far from them.
func histogram() *chart.Histogram {
	h := &chart.Histogram{Name: "/filter/callback_0", Axis: "latency", Of: "executions", Missing: []chart.Missing{{Count: 1234, What: "incomplete"}, {What: "unknown"}}}
	for i := range int64(30) {
		h.Add((8 + i%5) * ms)
	}
	h.Add(500 * ms)
	return h
}

func timeSeries() *chart.TimeSeries {
	s := &chart.TimeSeries{Name: "/filter/callback_0", Axis: "latency", Of: "executions", Missing: []chart.Missing{{Count: 1, What: "lost"}}}
	for i := range int64(20) {
		s.Add(begin+100*ms*i, (1+i%10)*ms)
	}
	s.AddMissing(begin + 1050*ms)
	return s
}

func stackedBar() *chart.StackedBar {
	s := &chart.StackedBar{Name: "path", Axis: "latency", Of: "messages", Parts: []string{"communication /points", "node /filter"}}
	for i := range int64(4) {
		s.Add(begin+100*ms*i, []int64{(i + 1) * ms, 4 * ms})
	}
	s.Add(begin+400*ms, []int64{-ms, 4 * ms})
	return s
}

func messageFlow(t testing.TB) *chart.MessageFlow {
	m := &chart.MessageFlow{Name: "[/sensor]-[/points]-[/filter]", Hops: []string{"/points", "/filter"}, Missing: []chart.Missing{{Count: 2, What: "unheard"}}}
	for i, end := range []chart.FlowEnd{chart.Arrived, chart.Lost, chart.Lost, chart.Uncertain} {
		at := begin + 100*ms*int64(i)
		times := []int64{at, at + 20*ms, at + 60*ms}
		if end != chart.Arrived {
			times = times[:i%2+1]
		}
		if err := m.Add(times, end); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func scheduling(t testing.TB) *chart.CallbackScheduling {
	c := new(chart.CallbackScheduling)
	for i := range int64(4) {
		at := begin + 100*ms*i
		err := errors.Join(c.Add("thread 91", "/sensor/callback_0", at, at+ms), c.Add("thread 92", "/filter/callback_10", at+10*ms, at+40*ms), c.Add("thread 92", "/filter/callback_9", at+40*ms, at+90*ms))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.AddOpen("thread 92", "/filter/callback_9", begin+400*ms); err != nil {
		t.Fatal(err)
	}
	return c
}

// panels are one of each kind.
func panels(t testing.TB) map[string]chart.Panel {
	return map[string]chart.Panel{
		"histogram": histogram(), "time series": timeSeries(), "stacked bar": stackedBar(), "message flow": messageFlow(t), "callback scheduling": scheduling(t),
	}
}

func text(t testing.TB, f *chart.Figure, columns int) string {
	t.Helper()
	var out strings.Builder
	if err := f.Text(&out, columns); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// svg draws a figure as SVG, which must be well-formed, and returns it.
func svg(t testing.TB, f *chart.Figure) string {
	t.Helper()
	var out bytes.Buffer
	if err := f.SVG(&out); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		if _, err := d.Token(); err == io.EOF {
			return out.String()
		} else if err != nil {
			t.Fatalf("%v in %.2000s", err, out.String())
		}
	}
}

func TestTerminal(t *testing.T) {
	for name, want := range map[string]string{
		"histogram": `
/filter/callback_0
latency [ms]  executions
   8.0 – 8.5           6  ██████████████████████████████████
   8.5 – 9.0           0
   9.0 – 9.5           6  ██████████████████████████████████
  9.5 – 10.0           0
 10.0 – 10.5           6  ██████████████████████████████████
 10.5 – 11.0           0
 11.0 – 11.5           6  ██████████████████████████████████
 11.5 – 12.0           0
 12.0 – 12.5           6  ██████████████████████████████████
 12.5 – 13.0           0
 13.0 – 13.5           0
       above           1  █████▋
least 8.000 ms, greatest 500.0 ms; 31 executions; not among
them: 1,234 incomplete
`,
		"time series": `
/filter/callback_0
latency [ms]
10 ┤                          ⠐                            ⠐
   │                       ⠐                             ⠂
   │                    ⠐                             ⠂
   │                 ⠐                             ⠂
   │              ⠐                             ⠂
 5 ┤           ⠈                             ⠁
   │        ⠈                             ⠁
   │     ⠈                             ⠁
   │  ⠈                             ⠁
 0 ┤⠁                            ⠁
   │                              ×
   └┬─────────────┬──────────────┬──────────────┬───────────
    0.0          0.5            1.0            1.5
         time since 2026-09-21 14:13:20.000000 UTC [s]
20 executions; not among them: 1 lost; × marks when those
began
`,
		"stacked bar": `
path
time [ms]  latency [ms]
        0          5.00  AAAABBBBBBBBBBBBBBBBBB
      100          6.00  AAAAAAAAABBBBBBBBBBBBBBBBB
      200          7.00  AAAAAAAAAAAAABBBBBBBBBBBBBBBBBB
      300          8.00  AAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBB
      400          4.00  BBBBBBBBBBBBBBBBBB
A  communication /points
B  node /filter
time since 2026-09-21 14:13:20.000000 UTC [ms]
5 messages; negative, because clocks differ, and without a
length here: 1 part
`,
		"message flow": `
[/sensor]-[/points]-[/filter]
        ┼⠱⡀             ⠈⢆              ⢸               ⠈⢆
/points │ ⠱⡀             ⠈⢢             ×                ⠈⢆
        │  ⠱⡀              ⢣                              ⠈⢆
        ┼   ⠑⢄⡀             ⡇                              ⢸
/filter │     ⠈⠢⡀           ×                              ?
        │       ⠈⠑⢄
        └┬──────────────┬───────────────┬───────────────┬───
         0             100             200             300
           time since 2026-09-21 14:13:20.000000 UTC [ms]
1 way arrived; 2 lost or unused on the way (×); 1 of which
the rest is unknown (?); not drawn: 2 unheard
`,
		"callback scheduling": `
thread 91
 /sensor/callback_0 │▁        ▁         ▁         ▁
thread 92
 /filter/callback_9 │   ▁████▆    ▃████▄    ▅████▂    ▇████?
/filter/callback_10 │▁██▇      ▂██▅      ▄██▃      ▆██▁
                    └┬──────────────────┬──────────────────┬
                     0                 200               400
time since 2026-09-21 14:13:20.000000 UTC [ms]
the height is the share of the time of a column in which the
callback ran
13 executions, 1 of them without a known end (?)
`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(t, &chart.Figure{Panels: []chart.Panel{panels(t)[name]}}, 60); got != want[1:] {
				t.Errorf("got\n%s\nwant\n%s", got, want[1:])
			}
		})
	}
}

// Whatever the terminal's width, no line is longer, and names are shortened in the middle.
func TestLinesFitTheTerminal(t *testing.T) {
	long := "/a/" + strings.Repeat("very_long_namespace/", 12) + "z"
	h, s, b, m, c := histogram(), timeSeries(), stackedBar(), messageFlow(t), scheduling(t)
	h.Name, s.Name, b.Name, b.Parts[0], m.Hops[0] = long, long, long, long, long
	if err := c.Add(long, long, begin, begin+ms); err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{60, 80, 160, 300} {
		got := text(t, &chart.Figure{Title: long, Panels: []chart.Panel{h, s, b, m, c}}, columns)
		for line := range strings.Lines(got) {
			if wide := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); wide > columns {
				t.Errorf("at %d columns, a line has %d: %s", columns, wide, line)
			}
		}
		if columns < 200 && (!strings.Contains(got, "/a/very") || !strings.Contains(got, "…") || !strings.Contains(got, "space/z")) {
			t.Errorf("the name is not shortened in the middle:\n%s", got)
		}
	}
}

// Pictures hold a shape for each thing, in its color, and texts for what axes are and for what cannot be drawn.
func TestSVG(t *testing.T) {
	const blue, orange, green, red = "#0072B2", "#E69F00", "#009E73", "#D55E00"
	for name, want := range map[string]struct {
		fills   map[string]int // with what is in the legend
		strokes map[string]int
		texts   []string
	}{
		"histogram": {map[string]int{blue: 5 + 1, orange: 1 + 1}, nil, []string{"latency [ms]", "executions", "greatest 500.0 ms", "1,234 incomplete"}},
		"time series": {map[string]int{blue: 20}, map[string]int{blue: 1, red: 2},
			[]string{"latency [ms]", "time since 2026-09-21 14:13:20.000000 UTC [s]", "not among them: 1 lost"}},
		"stacked bar": {map[string]int{blue: 4 + 1, orange: 5 + 1}, nil, []string{"communication /points", "node /filter", "latency [ms]", "1 part"}},
		"message flow": {nil, map[string]int{blue: 1, orange: 1, green: 1, red: 4},
			[]string{"/points", "hop", "2 lost or unused on the way", "1 of which the rest is unknown", "not drawn: 2 unheard"}},
		"callback scheduling": {map[string]int{blue: 4, orange: 8}, map[string]int{red: 1}, []string{"thread 91", "/filter/callback_10", "1 of them without a known end"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := svg(t, &chart.Figure{Title: "what is drawn", Panels: []chart.Panel{panels(t)[name]}, Notes: []string{"a note"}})
			for color, count := range want.fills {
				if n := strings.Count(got, "fill:"+color); n != count {
					t.Errorf("%d shapes are filled with %s, want %d", n, color, count)
				}
			}
			for color, count := range want.strokes {
				if n := strings.Count(got, "stroke:"+color); n != count {
					t.Errorf("%d lines have the color %s, want %d", n, color, count)
				}
			}
			for _, text := range append(want.texts, "what is drawn", "a note") {
				if !strings.Contains(got, text) {
					t.Errorf("it has no text %q", text)
				}
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}

func TestPNG(t *testing.T) {
	for name, panel := range panels(t) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := (&chart.Figure{Panels: []chart.Panel{panel}}).PNG(&out); err != nil {
				t.Fatal(err)
			}
			picture, err := png.Decode(&out)
			if err != nil {
				t.Fatal(err)
			}
			if size := picture.Bounds().Size(); size.X != 1500 {
				t.Errorf("it is %v", size)
			}
			colors := make(map[string]bool)
			for x := range 1500 {
				for y := range picture.Bounds().Dy() {
					colors[fmt.Sprint(picture.At(x, y))] = true
				}
			}
			if !colors[fmt.Sprint(picture.At(0, 0))] || len(colors) < 5 {
				t.Errorf("it has %d colors", len(colors))
			}
		})
	}
}

// Names are data: they neither make elements nor end them.
func TestNamesInSVG(t *testing.T) {
	h := histogram()
	h.Name = `</text><script>&"font-family:Liberation Sans;`
	if got := svg(t, &chart.Figure{Panels: []chart.Panel{h}}); strings.Contains(got, "<script>") || !strings.Contains(got, "&#34;font-family:Liberation Sans;</text>") {
		t.Errorf("got %s", got)
	}
}

// However much is added, a picture has a limited number of shapes, and the extremes are among them.
func TestPicturesAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := &chart.Histogram{Axis: "latency", Of: "executions"}
	s := &chart.TimeSeries{Axis: "latency", Of: "executions"}
	b := &chart.StackedBar{Axis: "latency", Of: "messages", Parts: []string{"a", "b"}}
	const count = 300_000
	for i := range int64(count) {
		value := ms + random.Int64N(ms)
		if i == 200_001 {
			value = 77_770_000
		}
		h.Add(value)
		b.Add(begin+i*ms, []int64{value / 2, value / 2})
		if i%1000 == 500 {
			s.AddMissing(begin + i*ms)
		} else {
			s.Add(begin+i*ms, value)
		}
	}
	for name, test := range map[string]struct {
		panel   chart.Panel
		longest int // characters of SVG
		says    string
	}{
		"histogram":   {h, 40_000, "greatest 77.77 ms"},
		"time series": {s, 400_000, "drawn from the least to the greatest value of intervals of"},
		"stacked bar": {b, 100_000, "each bar is the longest one of"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &chart.Figure{Panels: []chart.Panel{test.panel}}
			if got := svg(t, f); len(got) > test.longest || !strings.Contains(got, test.says) || !strings.Contains(got, "300,000") && name != "time series" {
				t.Errorf("it has %d characters, %q should be in\n%.3000s", len(got), test.says, got)
			}
			if got := text(t, f, 80); strings.Count(got, "\n") > 40 {
				t.Errorf("it has %d lines", strings.Count(got, "\n"))
			}
		})
	}
	if got := text(t, &chart.Figure{Panels: []chart.Panel{b}}, 80); !strings.Contains(got, " 77.8 ") {
		t.Errorf("the longest bar is missing:\n%s", got)
	}
	if got := text(t, &chart.Figure{Panels: []chart.Panel{s}}, 80); !strings.Contains(got, "80 ┤") && !strings.Contains(got, "60 ┤") {
		t.Errorf("the greatest value is missing:\n%s", got)
	}
}

func TestTooMuch(t *testing.T) {
	m, c := messageFlow(t), scheduling(t)
	var err error
	for n := 0; err == nil && n <= chart.MaxFlows; n++ {
		err = m.Add([]int64{begin, begin + ms}, chart.Lost)
	}
	if !errors.Is(err, chart.ErrTooMuch) || !strings.Contains(err.Error(), "1,000") {
		t.Errorf("error %v", err)
	}
	for n, err := 0, error(nil); err == nil; n++ {
		if err = c.Add("thread", "callback", begin, begin+ms); err != nil && (!errors.Is(err, chart.ErrTooMuch) || n != chart.MaxExecutions-13) {
			t.Errorf("error %v after %d executions", err, n)
		}
	}
	f := new(chart.Figure)
	for range chart.MaxPanels + 1 {
		f.Panels = append(f.Panels, histogram())
	}
	if err := f.SVG(io.Discard); !errors.Is(err, chart.ErrTooMuch) {
		t.Errorf("error %v", err)
	}
	text(t, f, 80) // a terminal scrolls
}

func TestNothing(t *testing.T) {
	for name, draw := range map[string]func(io.Writer) error{"SVG": new(chart.Figure).SVG, "PNG": new(chart.Figure).PNG, "text": func(w io.Writer) error { return new(chart.Figure).Text(w, 80) }} {
		if err := draw(io.Discard); !errors.Is(err, chart.ErrNothing) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	missing := []chart.Missing{{Count: 3, What: "lost"}}
	for name, panel := range map[string]chart.Panel{
		"histogram": &chart.Histogram{Name: "empty", Of: "messages", Missing: missing}, "time series": &chart.TimeSeries{Name: "empty", Of: "messages", Missing: missing},
		"stacked bar": &chart.StackedBar{Name: "empty", Of: "messages", Missing: missing}, "message flow": &chart.MessageFlow{Name: "empty", Missing: missing},
		"callback scheduling": &chart.CallbackScheduling{Name: "empty", Missing: missing},
	} {
		t.Run(name, func(t *testing.T) {
			f := &chart.Figure{Panels: []chart.Panel{panel}}
			for _, got := range []string{text(t, f, 80), svg(t, f)} {
				if !strings.Contains(got, "empty") || !strings.Contains(got, "0 ") || !strings.Contains(got, "3 lost") {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

// Times and values that are nonsense, of wrong clocks or damaged datasets, are drawn somewhere.
func TestNonsense(t *testing.T) {
	extremes := []int64{math.MinInt64, -1, 0, 1, 1 << 61, 1 << 62, math.MaxInt64}
	h := &chart.Histogram{Axis: "latency", Of: "executions"}
	s := &chart.TimeSeries{Axis: "latency", Of: "executions"}
	b := &chart.StackedBar{Axis: "latency", Of: "messages", Parts: []string{"a", "b", "c"}}
	m, c := &chart.MessageFlow{Hops: []string{"a", "b"}}, new(chart.CallbackScheduling)
	for _, x := range extremes {
		h.Add(x)
		for _, y := range extremes {
			s.Add(x, y)
			b.Add(x, []int64{y, x, y})
			if err := errors.Join(m.Add([]int64{x, y, x}, chart.Arrived), c.Add("thread", "callback", x, y)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := &chart.Figure{Panels: []chart.Panel{h, s, b, m, c}}
	svg(t, f)
	if err := f.PNG(io.Discard); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(text(t, f, 80)) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("too long: %s", line)
		}
	}
}

// One value, and instances at one time, have axes as well. So do negative values, which clocks that differ make.
func TestDegenerateData(t *testing.T) {
	for name, value := range map[string]int64{"zero": 0, "one": 1, "negative": -5 * ms, "great": 1 << 62, "least": -1 << 62} {
		t.Run(name, func(t *testing.T) {
			h := &chart.Histogram{Axis: "latency", Of: "executions"}
			s := &chart.TimeSeries{Axis: "latency", Of: "executions"}
			h.Add(value)
			s.Add(begin, value)
			s.Add(begin, value)
			f := &chart.Figure{Panels: []chart.Panel{h, s}}
			svg(t, f)
			if got := text(t, f, 80); !strings.Contains(got, "█") {
				t.Errorf("nothing is drawn:\n%s", got)
			}
		})
	}
}
