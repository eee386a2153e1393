package view_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/view"
)

var (
	contentsIn = regexp.MustCompile(`<script type="application/json" id="contents">([^<]*)</script>`)
	partsIn    = regexp.MustCompile(`<script type="application/octet-stream;gzip\+base64" class="answers">([^<]*)</script>`)
)

// answersOf unpacks the answers of a report. Those of each part are those that the contents name.
func answersOf(t *testing.T, html string) map[string]json.RawMessage {
	t.Helper()
	found := contentsIn.FindStringSubmatch(html)
	if found == nil {
		t.Fatal("the report has no contents")
	}
	var contents struct {
		Format int
		Parts  [][]string
	}
	if err := json.Unmarshal([]byte(found[1]), &contents); err != nil || contents.Format != 2 {
		t.Fatalf("format %d, %v", contents.Format, err)
	}
	all := make(map[string]json.RawMessage)
	parts := partsIn.FindAllStringSubmatch(html, -1)
	if len(parts) != len(contents.Parts) {
		t.Fatalf("%d parts, and the contents have %d", len(parts), len(contents.Parts))
	}
	for i, part := range parts {
		answers := partOf(t, part[1])
		if got, want := slices.Sorted(maps.Keys(answers)), slices.Sorted(slices.Values(contents.Parts[i])); !slices.Equal(got, want) {
			t.Errorf("part %d has %q, want %q", i, got, want)
		}
		maps.Copy(all, answers)
		// Only the last one is small, and none is larger than it must be.
		if packed := base64.StdEncoding.DecodedLen(len(part[1])); i < len(parts)-1 && packed < 64<<10 || packed > 64<<10+largest(answers) {
			t.Errorf("part %d of %d has %d bytes, with %d answers", i+1, len(parts), packed, len(answers))
		}
	}
	return all
}

func largest(answers map[string]json.RawMessage) (size int) {
	for _, answer := range answers {
		size = max(size, len(answer))
	}
	return size
}

// partOf unpacks a part.
func partOf(t *testing.T, text string) (answers map[string]json.RawMessage) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unpacked).Decode(&answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func writeReport(t *testing.T, v *view.View, size int) (html string, summary view.ReportSummary) {
	t.Helper()
	var out bytes.Buffer
	summary, err := view.WriteReport(t.Context(), &out, v, page, size)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), summary
}

// The answers of a report are those of a server, but for what tells that it is one and what it has.
func TestReportHasTheSameAnswers(t *testing.T) {
	d := systemDataset(t, 10_000)
	v := open(t, view.Options{Datasets: []*trace.Dataset{d}, Baseline: []*trace.Dataset{systemDataset(t, 3000)}})
	html, summary := writeReport(t, v, view.ReportBytes)
	answers := answersOf(t, html)
	if summary.Answers != len(answers) || summary.Bytes != len(html) || summary.Omitted {
		t.Errorf("%+v, of %d answers and %d bytes", summary, len(answers), len(html))
	}
	kinds := make(map[string]int)
	for _, key := range slices.Sorted(maps.Keys(answers)) {
		answer := answers[key]
		name, _, _ := strings.Cut(key, "?")
		if kinds[name]++; kinds[name] > 20 && kinds[name]%20 > 0 {
			continue // to save time
		}
		want, err := v.Answer(t.Context(), key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		switch name {
		case "recording":
			want = bytes.Replace(want, []byte(`"report":false`), []byte(`"report":true`), 1)
		case "paths":
			answer = regexp.MustCompile(`,"flows":\[[^]]*\]`).ReplaceAll(answer, nil)
		}
		if !bytes.Equal(answer, want) {
			t.Errorf("%s is\n%.300s\nwant\n%.300s", key, answer, want)
		}
	}
	for _, name := range []string{
		"recording", "connections", "graph", "callbacks", "communications", "timers", "topics", "loads", "losses", "delays", "offcpus", "compare", "comparedparts", "paths", "path", "flow", "series", "tile",
	} {
		if kinds[name] == 0 {
			t.Errorf("the report has no %s", name)
		}
	}
	if kinds["flow"] != 16*6 || kinds["series"] != 64*3+48*3+48*2 {
		t.Errorf("%v", kinds)
	}
	paths := ask[struct {
		Paths []struct{ Text string }
	}](t, v, "paths")
	if len(paths.Paths) != 16 {
		t.Errorf("%d paths", len(paths.Paths))
	}
}

// A report loads nothing: its policy lets it use its own script and style only, by what they are.
func TestReportIsOneFile(t *testing.T) {
	html, _ := writeReport(t, open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}}), view.ReportBytes)
	if strings.Contains(html, "app.js") || strings.Contains(html, "app.css") || strings.Contains(html, "'self'") {
		t.Error("it refers to other files")
	}
	for tag, directive := range map[string]string{"script": "script-src", "style": "style-src"} {
		inline := regexp.MustCompile(`<` + tag + `>([^<]*)</` + tag + `>`).FindStringSubmatch(html)
		if inline == nil {
			t.Fatalf("no %s", tag)
		}
		sum := sha256.Sum256([]byte(inline[1]))
		if want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; !strings.Contains(html, want) {
			t.Errorf("the policy has not %s", want)
		}
	}
	policy, charset, script := strings.Index(html, "Content-Security-Policy"), strings.Index(html, "charset"), strings.Index(html, "document.title")
	if answers := strings.Index(html, `class="answers"`); policy < 0 || policy > strings.Index(html, "<style>") || answers > script || charset > 1000 {
		t.Errorf("the policy is at %d, the encoding at %d, the answers at %d, the script at %d", policy, charset, answers, script)
	}
}

// A page that cannot be one file is refused with the remedy.
func TestDamagedPage(t *testing.T) {
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	for name, change := range map[string]func(fstest.MapFS){
		"no script":          func(p fstest.MapFS) { delete(p, "app.js") },
		"no place for it":    func(p fstest.MapFS) { p["index.html"] = &fstest.MapFile{Data: []byte("<html><head></head></html>")} },
		"a script that ends": func(p fstest.MapFS) { p["app.js"] = &fstest.MapFile{Data: []byte("'</script>'")} },
		"a style that ends":  func(p fstest.MapFS) { p["app.css"] = &fstest.MapFile{Data: []byte("a{}</STYLE>")} },
		"an end before the js": func(p fstest.MapFS) {
			p["index.html"] = &fstest.MapFile{Data: bytes.ReplaceAll(page["index.html"].Data, []byte("</body>"), nil)}
		},
	} {
		damaged := fstest.MapFS{}
		for file, content := range page {
			damaged[file] = content
		}
		change(damaged)
		var out bytes.Buffer
		if _, err := view.WriteReport(t.Context(), &out, v, damaged, view.ReportBytes); !errors.Is(err, view.ErrPage) || out.Len() > 0 || !strings.Contains(err.Error(), "make web") {
			t.Errorf("%s: %v, %d bytes", name, err, out.Len())
		}
	}
}

// A report of more than fits leaves out what is finest, and says so. It has the exact tile around what was slowest.
func TestReportLeavesOut(t *testing.T) {
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 30_000)}})
	const size = 2_000_000
	html, summary := writeReport(t, v, size)
	if !summary.Omitted || len(html) > size {
		t.Errorf("%+v, %d bytes", summary, len(html))
	}
	answers := answersOf(t, html)
	for _, key := range []string{"recording", "graph", "callbacks", "tile?level=0&index=0"} {
		if answers[key] == nil {
			t.Errorf("no %s", key)
		}
	}
	recorded := ask[recording](t, v, "recording")
	around := false
	slowest := slowestWay(t, v)
	for key, answer := range answers {
		var level, index int64
		if n, _ := fmt.Sscanf(key, "tile?level=%d&index=%d", &level, &index); n == 2 && strings.HasPrefix(string(answer), `{"exact":true`) {
			from, to := recorded.Duration*index>>level, recorded.Duration*(index+1)>>level
			around = around || from <= slowest && slowest <= to
		}
	}
	if !around {
		t.Error("no exact tile is around the slowest way")
	}
}

// A report of a recording with times off the CPU has those of its exact tiles, of the slowest ways first.
func TestReportHasTimesOffTheCPU(t *testing.T) {
	const duration = 2_000_000
	rows := timers()
	for i := range int64(20_000) {
		at := i * duration
		rows.Callbacks = append(rows.Callbacks, ran(1, 0x10, at, at+duration/2, trace.CallbackComplete, 0))
		rows.Scheds = append(rows.Scheds, trace.Sched{
			ProcessKey: robot, TID: 1, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + at + i, SchedInTimestamp: begin + at + 2*i + 10, OtherCommand: fmt.Sprint("hog ", i%97),
		})
	}
	rows.Losses = []trace.Loss{{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 1, FromTimestamp: begin + 10_000*duration, ToTimestamp: begin + 10_000*duration}}
	v := open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}})
	offCPU := func(size int) (keys []string, omitted bool) {
		html, summary := writeReport(t, v, size)
		answers := answersOf(t, html)
		for key, answer := range answers {
			if !strings.HasPrefix(key, "offcpu?") {
				continue
			}
			keys = append(keys, key)
			if of := answers["tile"+strings.TrimPrefix(key, "offcpu")]; !strings.HasPrefix(string(of), `{"exact":true`) {
				t.Errorf("%s is of no exact tile", key)
			}
			if want, err := v.Answer(t.Context(), key); err != nil || !bytes.Equal(answer, want) {
				t.Errorf("%s: %.300s, want %.300s, %v", key, answer, want, err)
			}
		}
		return keys, summary.Omitted
	}
	all, omitted := offCPU(view.ReportBytes)
	if len(all) < 5 || omitted {
		t.Errorf("%d tiles have them, more left out: %v", len(all), omitted)
	}
	some, omitted := offCPU(400_000)
	recorded := ask[recording](t, v, "recording")
	around := false
	for _, key := range some {
		var level, index int64
		if _, err := fmt.Sscanf(key, "offcpu?level=%d&index=%d", &level, &index); err != nil {
			t.Fatal(err)
		}
		around = around || recorded.Duration*index>>level <= 10_000*duration && 10_000*duration <= recorded.Duration*(index+1)>>level
	}
	if !omitted || len(some) >= len(all) || !around {
		t.Errorf("a small report: %v of %v, more left out: %v", some, all, omitted)
	}
}

// slowestWay is when the slowest way of all paths began.
func slowestWay(t *testing.T, v *view.View) (begin int64) {
	t.Helper()
	longest := int64(-1)
	for _, p := range ask[struct{ Paths []struct{ Text string } }](t, v, "paths").Paths {
		path := ask[struct{ Series []struct{ T, Total []int64 } }](t, v, "path?path="+url.PathEscape(p.Text))
		for _, s := range path.Series {
			for i, total := range s.Total {
				if total > longest {
					longest, begin = total, s.T[i]
				}
			}
		}
	}
	return begin
}

// A name that looks like several in the text of a path leaves that path out, and nothing else.
func TestReportOfNamesLikePaths(t *testing.T) {
	dir := t.TempDir()
	sequence := 0
	add := func(b *trace.Batch) error {
		for i := range b.Publishers {
			if p := &b.Publishers[i]; p.TopicName == tracetest.SystemTopic(0, 0) {
				p.TopicName = "/a]-[/b"
			}
		}
		for i := range b.Subscriptions {
			if s := &b.Subscriptions[i]; s.TopicName == tracetest.SystemTopic(0, 0) {
				s.TopicName = "/a]-[/b"
			}
		}
		tracetest.AddSegments(t, dir, sequence, b)
		sequence++
		return nil
	}
	entities, err := tracetest.System(3000, add)
	if err != nil {
		t.Fatal(err)
	}
	_ = add(entities)
	tracetest.AddSession(t, dir, endedSession())
	html, _ := writeReport(t, open(t, view.Options{Datasets: []*trace.Dataset{tracetest.Open(t, dir)}}), view.ReportBytes)
	if text := string(answersOf(t, html)["paths"]); !strings.Contains(text, "[/chain_1/sensor]") || strings.Contains(text, "[/chain_0/sensor]") || !strings.Contains(text, "paths are left out") {
		t.Errorf("paths: %.300s", text)
	}
}
