package main

import (
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// drawnDataset is the recording of a sensor and a filter, on two threads, and of what receives objects. Of ten points,
// one is lost, of one the filter makes nothing, and the objects made of the last have not arrived when the recording
// ends. One execution of the filter has no end.
func drawnDataset(t testing.TB) string {
	t.Helper()
	const ms, begin = int64(1e6), int64(1_790_000_000_000_000_000)
	dir := t.TempDir()
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	rows := trace.Batch{
		Nodes: []trace.Node{
			{ProcessKey: key, NodeHandle: 0x10, NodeName: "sensor", Namespace: "/"}, {ProcessKey: key, NodeHandle: 0x20, NodeName: "filter", Namespace: "/"},
			{ProcessKey: key, NodeHandle: 0x30, NodeName: "actuator", Namespace: "/"},
		},
		Publishers: []trace.Publisher{
			{ProcessKey: key, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: "/points", GID: "aa"}, {ProcessKey: key, PublisherHandle: 0x21, NodeHandle: 0x20, TopicName: "/objects", GID: "bb"},
		},
		Subscriptions: []trace.Subscription{
			{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/points", Subscription: 0x23, Callback: 0x24},
			{ProcessKey: key, SubscriptionHandle: 0x32, NodeHandle: 0x30, TopicName: "/objects", Subscription: 0x33, Callback: 0x34},
		},
		Timers: []trace.Timer{{ProcessKey: key, TimerHandle: 0x12, NodeHandle: 0x10, Callback: 0x13, Period: trace.Some(100 * ms)}},
	}
	runs := func(tid int32, callback trace.Address, start, end int64, gid string, source int64) {
		row := trace.Callback{
			ProcessKey: key, TID: tid, Callback: callback, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(end), Status: trace.CallbackComplete,
		}
		if end == 0 {
			row.CallbackEndTimestamp, row.Status = trace.Optional[int64]{}, trace.CallbackRecordingEnd
		}
		if gid != "" {
			row.PublisherGID, row.SourceTimestamp, row.RMWTakeTimestamp = gid, trace.Some(source), trace.Some(start)
		}
		rows.Callbacks = append(rows.Callbacks, row)
	}
	publishes := func(tid int32, publisher trace.Address, at int64, callback trace.Address, start int64) {
		rows.Publishes = append(rows.Publishes, trace.Publish{
			ProcessKey: key, TID: tid, PublisherHandle: publisher, RclcppPublishTimestamp: trace.Some(at), SourceTimestamp: trace.Some(at), Status: trace.PublishComplete,
			Callback: callback, CallbackStartTimestamp: trace.Some(start), PublishNumber: uint64(len(rows.Publishes)),
		})
	}
	for i := range int64(10) {
		at := begin + 100*ms*i
		runs(91, 0x13, at, at+(2+i%3)*ms, "", 0)
		publishes(91, 0x11, at+ms, 0x13, at)
		if i == 3 {
			continue // lost
		}
		start := at + (4+i%2)*ms
		end := start + (20+i)*ms
		if i == 8 {
			end = 0
		}
		runs(92, 0x24, start, end, "aa", at+ms)
		if i == 5 {
			continue // nothing is made of it
		}
		publishes(92, 0x21, start+(15+i)*ms, 0x24, start)
		if i < 9 {
			runs(91, 0x34, start+50*ms, start+55*ms, "bb", start+(15+i)*ms)
		}
	}
	tracetest.AddSegments(t, dir, 0, &rows)
	tracetest.AddSession(t, dir, trace.NewSession())
	return dir
}

// filterPath names the path from the sensor through the filter.
var filterPath = []string{"--from", "/points", "--to", "/objects"}

// drawings are all ways to draw an answer about a drawnDataset, with a text that each has.
func drawings(dir string) map[string]struct {
	arguments []string
	says      string
} {
	path := func(question, drawing string, more ...string) []string {
		return append(append([]string{"latency", question, dir}, filterPath...), append(more, drawing)...)
	}
	return map[string]struct {
		arguments []string
		says      string
	}{
		"histogram of callbacks":      {[]string{"latency", "callback", dir, "--histogram"}, "8 executions; not among them: 1 incomplete"},
		"series of callbacks":         {[]string{"latency", "callback", dir, "--series", "--plot"}, "/filter/callback_0, subscription /points, PID 77"},
		"scheduling":                  {[]string{"latency", "callback", dir, "--scheduling"}, "PID 77, thread 92"},
		"histogram of communications": {[]string{"latency", "communication", dir, "--histogram"}, "9 messages; not among them: 1 lost"},
		"series of communications":    {[]string{"latency", "communication", dir, "--series", "--plot"}, "/points: /sensor → /filter, inter-process, PID 77"},
		"histogram of nodes":          {[]string{"latency", "node", dir, "--histogram"}, "8 outputs; not among them: 1 unused"},
		"series of nodes":             {[]string{"latency", "node", dir, "--series", "--plot"}, "/filter: /points → /objects, PID 77"},
		"histogram of paths":          {path("path", "--histogram"), "7 ways; not among them: 3 dropped"},
		"series of paths":             {path("path", "--plot", "--series"), "7 ways; not among them: 1 dropped; × marks when those began"},
		"stacked bars":                {path("path", "--stacked-bar"), "7 ways; not among them: 3 dropped"},
		"message flow":                {path("path", "--message-flow"), "7 ways arrived; 2 lost or unused on the way"},
		"histogram of response times": {path("response-time", "--histogram"), "worst with external latency, of"},
		"series of response times":    {path("response-time", "--plot", "--series"), "6 values"},
		"histogram of periods":        {[]string{"period", dir, "--histogram"}, "/sensor/callback_0, timer 100.0 ms, PID 77"},
		"series of periods":           {[]string{"period", dir, "--of", "topic", "--series", "--plot"}, "publishes of /points by /sensor, PID 77"},
		"periods of subscriptions":    {[]string{"period", dir, "--of", "subscription", "--histogram"}, "messages of /points received by /filter, PID 77"},
		"periods of communications":   {[]string{"period", dir, "--of", "communication", "--histogram"}, "received publishes of /points: /sensor → /filter, inter-process, PID 77"},
		"histogram of frequencies":    {[]string{"frequency", dir, "--interval", "100ms", "--histogram"}, "frequency [1/s]"},
		"series of frequencies":       {[]string{"frequency", dir, "--interval", "100ms", "--series", "--plot"}, "The last interval of each is not whole."},
	}
}

// Each drawing is the same whenever it is made, and no line is longer than the terminal is wide.
func TestDrawingsInTheTerminal(t *testing.T) {
	for name, test := range drawings(drawnDataset(t)) {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(test.arguments...)
			if code != exitSuccess || problems != "" || !strings.Contains(out, test.says) {
				t.Errorf("exit code %d: %s%q should be in\n%s", code, problems, test.says, out)
			}
			if _, again, _ := runCommand(test.arguments...); again != out {
				t.Errorf("the next time it is\n%s\nand not\n%s", again, out)
			}
			for line := range strings.Lines(out) {
				if utf8.RuneCountInString(strings.TrimSpace(line)) > plainWidth {
					t.Errorf("too long: %s", line)
				}
			}
		})
	}
}

// A drawing is in the file instead of the terminal, which is replaced as a whole.
func TestDrawingsInFiles(t *testing.T) {
	folder := t.TempDir()
	svg, png := filepath.Join(folder, "drawing.svg"), filepath.Join(folder, "drawing.png")
	for name, test := range drawings(drawnDataset(t)) {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(svg, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, problems := runCommand(append(test.arguments, "--svg", svg, "--png", png)...)
			if code != exitSuccess || out+problems != "" {
				t.Fatalf("exit code %d: %s%s", code, out, problems)
			}
			if content, err := os.ReadFile(svg); err != nil || !strings.HasPrefix(string(content), "<?xml") || !strings.Contains(html.UnescapeString(string(content)), test.says) {
				t.Errorf("error %v; %q should be in %s", err, test.says, content)
			}
			if content, err := os.ReadFile(png); err != nil || !strings.HasPrefix(string(content), "\x89PNG") {
				t.Errorf("error %v; it begins with %.8q", err, content)
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
				t.Errorf("left are %v, %v", entries, err)
			}
		})
	}
}

// The points of the dataset are where the drawing of their flow shows them.
func TestMessageFlow(t *testing.T) {
	const want = `message flow

[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]
         ┼⡇      ⢸       ⡇      ⢸       ⡇      ⢸       ⡇      ⢸       ⡇      ⢸
 /points │⡇      ⢸       ⡇      ×       ⡇      ⠘⡄      ⡇      ⠘⡄      ⢣      ⠘⡄
         │⡇      ⢸       ⡇              ⡇       ⡇      ⡇       ⡇      ⢸       ⡇
         ┼⢇      ⠘⡄      ⢣              ⢣       ⡇      ⢣       ⢣      ⠘⡄      ⢣
 /filter │⢸       ⢣      ⠘⡄             ⠘⡄      ×      ⠈⡆      ⠘⡄      ⢣      ⠘⡄
         │⠈⡆      ⠘⡄      ⢣              ⢣              ⠸⡀      ⢣      ⠘⡄      ⢣
         ┼ ⢣       ⢣      ⠘⡄             ⠘⡄              ⢣      ⠘⡄      ⢣      ⢸
/objects │  ⢣       ⢣      ⠘⡄             ⠘⡄             ⠈⢆      ⠱⡀     ⠈⢆     ?
         │   ⢣       ⢣      ⠘⡄             ⠘⡄             ⠘⡄      ⢣      ⠘⡄
`
	code, out, problems := runCommand(append([]string{"latency", "path", drawnDataset(t), "--message-flow"}, filterPath...)...)
	if code != exitSuccess || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d: %s%s", code, problems, out)
	}
}

// Where there is nothing to draw in the terminal, a sentence says so, as for a table.
func TestNothingToDraw(t *testing.T) {
	code, out, problems := runCommand("latency", "callback", drawnDataset(t), "--histogram", "--callback", "/actuator.*", "--to-time", "1ms")
	if code != exitSuccess || out != "no execution of a callback was recorded that fits the filters\n" {
		t.Errorf("exit code %d: %s%s", code, problems, out)
	}
}

// What makes no sense is refused before anything is read, with a remedy, and no file is made.
func TestDrawingsThatAreRefused(t *testing.T) {
	dir, folder := drawnDataset(t), t.TempDir()
	file := filepath.Join(folder, "file")
	callback, path := []string{"latency", "callback", dir}, append([]string{"latency", "path", dir}, filterPath...)
	for name, test := range map[string]struct {
		command, flags []string
		code           int
		says           string
	}{
		"two drawings":          {callback, []string{"--histogram", "--scheduling"}, exitUsage, "choose one of --histogram and --scheduling"},
		"a file of what":        {callback, []string{"--svg", file}, exitUsage, "say what --svg draws: --histogram, --series --plot or --scheduling"},
		"a picture of a series": {path, []string{"--series", "--png", file}, exitUsage, "say what --png draws: --histogram, --series --plot, --stacked-bar or --message-flow"},
		"a plot of no series":   {callback, []string{"--plot"}, exitUsage, "add --series"},
		"a histogram of rows":   {callback, []string{"--series", "--histogram"}, exitUsage, "leave out --series, or take --series --plot"},
		"rows and a drawing":    {callback, []string{"--histogram", "--csv"}, exitUsage, "--histogram draws, and --csv writes rows"},
		"Parquet and a drawing": {callback, []string{"--series", "--plot", "--parquet", file}, exitUsage, "--series --plot draws, and --parquet writes rows"},
		"rows of inputs":        {append([]string{"latency", "response-time", dir}, filterPath...), []string{"--series", "--plot", "--of", "input"}, exitUsage, "leave out --of"},
		"one file for both":     {callback, []string{"--histogram", "--svg", file, "--png", file}, exitUsage, "name one file"},
		"not of this command":   {callback, []string{"--message-flow"}, exitUsage, "unknown flag"},
		"no such folder":        {callback, []string{"--histogram", "--svg", file, "--png", filepath.Join(folder, "missing", "file")}, exitOutput, "no such file"},
		"nothing that fits":     {callback, []string{"--histogram", "--svg", file, "--node", "/nobody"}, exitNoTarget, "/nobody"},
		"nothing at the time":   {callback, []string{"--scheduling", "--svg", file, "--callback", "/actuator.*", "--to-time", "1ms"}, exitNoTarget, "no execution of a callback was recorded that fits"},
		"rows in an order":      {callback, []string{"--scheduling", "--sort", "count"}, exitUsage, "leave out --sort and --limit"},
		"some ways":             {path, []string{"--message-flow", "--limit", "3"}, exitUsage, "leave out --sort and --limit"},
		"no such column":        {callback, []string{"--histogram", "--sort", "cuont"}, exitUsage, "did you mean"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append(append([]string{}, test.command...), test.flags...)...)
			if code != test.code || out != "" || !strings.Contains(problems, test.says) {
				t.Errorf("exit code %d, want %d; %q should be in %s%s", code, test.code, test.says, problems, out)
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
				t.Errorf("left are %v, %v", entries, err)
			}
		})
	}
}

// What nobody could tell apart is refused, and the message says how to ask for less. What is less is drawn.
func TestTooMuchToDraw(t *testing.T) {
	dir := t.TempDir()
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	rows := make([]trace.Callback, chart.MaxExecutions+1)
	for i := range rows {
		start := int64(1e9) + int64(i)*1e6
		rows[i] = trace.Callback{
			ProcessKey: key, TID: 1, Callback: trace.Address(i%(chart.MaxPanels+1)) + 1, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(start + 1000), Status: trace.CallbackComplete,
		}
	}
	tracetest.AddSegment(t, dir, 0, rows)
	tracetest.AddSession(t, dir, trace.NewSession())
	folder := t.TempDir()
	file := filepath.Join(folder, "drawing.svg")
	for _, test := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--scheduling"}, exitUsage, "more than 20,000 executions: take less time (--last, or --from-time and --to-time)"},
		{[]string{"--scheduling", "--last", "1s"}, exitSuccess, "\n1,000 executions"},
		{[]string{"--histogram", "--svg", file}, exitUsage, "61 panels, and a picture has 60 at most: choose with --node, --topic or --callback"},
		{[]string{"--histogram"}, exitSuccess, "77/0x3d, PID 77"},
	} {
		code, out, problems := runCommand(append([]string{"latency", "callback", dir}, test.flags...)...)
		if code != test.code || !strings.Contains(out+problems, test.says) {
			t.Errorf("%v: exit code %d, want %d; %q should be in %s%.2000s", test.flags, code, test.code, test.says, problems, out)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("left are %v, %v", entries, err)
		}
	}
}

// What cannot be drawn, because it is not known when it began or what became of it, is counted.
func TestWhatIsNotDrawnIsCounted(t *testing.T) {
	dir := drawnDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 1, []trace.Callback{{
		ProcessKey: key, TID: 92, Callback: 0x24, CallbackEndTimestamp: trace.Some(int64(1_790_000_000_000_000_000)), Status: trace.CallbackStartMissing,
	}})
	const says = "26 executions, 1 of them without a known end (?); not drawn: 1 without a known\nbegin\n"
	if code, out, problems := runCommand("latency", "callback", dir, "--scheduling"); code != exitSuccess || !strings.HasSuffix(out, says) {
		t.Errorf("exit code %d: %s%s", code, problems, out)
	}

	flows := newMessageFlows()
	err := flows.add("", []analyze.PathFlow{{Path: "a", Times: []int64{1, 2}, Fate: analyze.Received}, {Path: "a", Times: []int64{1, 3}, Fate: analyze.Received, Again: true}})
	if err != nil {
		t.Fatal(err)
	}
	flows.end("", []analyze.PathHop{{Path: "a", Messages: 5}, {Path: "a", Hop: 1, Name: "/topic"}})
	var out strings.Builder
	if err := flows.figure().Text(&out, plainWidth); err != nil || !strings.Contains(out.String(), "not drawn: 4 messages of which\nnothing more is known") {
		t.Errorf("error %v: %s", err, out.String())
	}
}

// An output that no message led to is marked where it was published.
func TestOutputsWithoutAnInput(t *testing.T) {
	values := chartValues(seriesChart, nodeValues())
	label := analyze.NodeLabel{Node: "/node"}
	err := values.add("", []analyze.NodeInstance{
		{NodeLabel: label, Input: trace.Some(int64(1e9)), Publish: trace.Some(int64(2e9)), Latency: trace.Some(int64(1e9))}, {NodeLabel: label, Publish: trace.Some(int64(3e9))},
	})
	if err != nil {
		t.Fatal(err)
	}
	values.end("", []analyze.NodeLatency{{NodeLabel: label, WithoutInput: 1}})
	var out strings.Builder
	err = values.figure().Text(&out, plainWidth)
	if text := out.String(); err != nil || !strings.Contains(text, "1 output; not among them: 1 without an input") || !strings.Contains(text, "×\n") || !strings.Contains(text, "1970-01-01 00:00:01.000000") {
		t.Errorf("error %v: %s", err, text)
	}
}

// Rows that nothing tells apart are drawn as one panel, and what each lacks is added up.
func TestRowsThatNothingTellsApart(t *testing.T) {
	values := chartValues(histogramChart, pathValues())
	rows := []analyze.PathHop{{Path: "a", Dropped: 2}, {Path: "b", Dropped: 1}, {Path: "a", Dropped: 3}}
	values.end("", rows)
	var out strings.Builder
	if err := values.figure().Text(&out, plainWidth); err != nil || strings.Count(out.String(), "not among them") != 2 || !strings.Contains(out.String(), "not among them: 5 dropped") {
		t.Errorf("error %v: %s", err, out.String())
	}
}

// With --by, each group has its own panels.
func TestDrawingsOfGroups(t *testing.T) {
	arguments := []string{"latency", "path"}
	for _, route := range []string{"north", "south"} {
		dir := drawnDataset(t)
		tracetest.AddSegment(t, dir, 0, []trace.Attribute{{Key: "route", Value: route}})
		s := trace.NewSession()
		s.Attributes = map[string]string{"route": route}
		tracetest.AddSession(t, dir, s)
		arguments = append(arguments, dir)
	}
	arguments = append(append(arguments, filterPath...), "--by", "route")
	for drawing, panels := range map[string]int{"--histogram": 4, "--stacked-bar": 1, "--message-flow": 1} {
		code, out, problems := runCommand(append(slices.Clone(arguments), drawing)...)
		if code != exitSuccess || strings.Count(out, "route=north: ") != panels || strings.Count(out, "route=south: ") != panels {
			t.Errorf("%s: exit code %d: %s%s", drawing, code, problems, out)
		}
	}
	code, out, problems := runCommand("latency", "callback", arguments[2], arguments[3], "--by", "route", "--scheduling")
	if code != exitSuccess || strings.Count(out, "route=") != 2 {
		t.Errorf("exit code %d: %s%s", code, problems, out)
	}
}

// A drawing has the width of the terminal, and 80 columns elsewhere.
func TestDrawingsFitTheTerminal(t *testing.T) {
	for name, test := range drawings(drawnDataset(t)) {
		t.Run(name, func(t *testing.T) {
			for _, width := range []uint16{60, 80, 160} {
				code, out := runOnTerminal(t, width, "", append(test.arguments, "--quiet")...)
				if got := lineWidth(out); code != exitSuccess || got > int(width) || got < int(width)/2 {
					t.Errorf("on %d columns the longest line has %d:\n%s", width, got, out)
				}
			}
		})
	}
}

// Panels are in the order of the rows, and as many as the flags say.
func TestOrderOfPanels(t *testing.T) {
	dir := drawnDataset(t)
	for name, test := range map[string]struct {
		flags  []string
		panels []string
		left   string
	}{
		"worst first":  {nil, []string{"/filter/callback_0", "/actuator/callback_0", "/sensor/callback_0"}, ""},
		"by the count": {[]string{"--sort", "-count"}, []string{"/actuator/callback_0", "/filter/callback_0", "/sensor/callback_0"}, ""},
		"the worst":    {[]string{"--limit", "1"}, []string{"/filter/callback_0"}, "--limit 1 leaves out 2 rows\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append([]string{"latency", "callback", dir, "--histogram"}, test.flags...)...)
			var panels []string
			for line := range strings.Lines(out) {
				if panel, _, ok := strings.Cut(line, ", "); ok && strings.HasPrefix(line, "/") {
					panels = append(panels, panel)
				}
			}
			if code != exitSuccess || !slices.Equal(panels, test.panels) || problems != test.left {
				t.Errorf("exit code %d, panels %q, want %q; on the side %q", code, panels, test.panels, problems)
			}
		})
	}
}
