package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// chainPath is a path of a synthetic system.
const chainPath = "[/chain_3/sensor]-[/chain_3/points]-[/chain_3/filter]-[/chain_3/objects]-[/chain_3/tracker]-[/chain_3/tracks]-[/chain_3/control]"

// TestPageShowsWhatCommandsAnswer compares every table of the page with the command that answers the same.
func TestPageShowsWhatCommandsAnswer(t *testing.T) {
	t.Parallel()
	dataset := synthetic(t, 20_000)
	everyForm(t, []string{dataset, "--path", chainPath}, func(t *testing.T, p *page) {
		for _, shown := range []struct {
			route, table string
			command      []string
		}{
			{"#callbacks", "callbacks", []string{"latency", "callback"}},
			{"#callbacks", "timers", []string{"period"}},
			{"#topics", "topics", []string{"period", "--of", "topic"}},
			{"#communications", "communications", []string{"latency", "communication"}},
			{"#threads", "loads", []string{"load"}},
			{"#paths?path=" + chainPath, "hops", []string{"latency", "path", "--path", chainPath}},
		} {
			p.goTo(shown.route)
			p.expectTable(shown.table, answer(t, append(shown.command, dataset)...))
		}
		p.expectQuiet()
	})
}

// TestPageSaysWhereTheTimeWent compares parts of times in callbacks, before them and along a path, and who kept
// callbacks off the CPU.
func TestPageSaysWhereTheTimeWent(t *testing.T) {
	t.Parallel()
	dataset := scheduled(t, 10_000)
	everyForm(t, []string{dataset, "--path", chainPath}, func(t *testing.T, p *page) {
		p.goTo("#callbacks")
		for table, flag := range map[string]string{"parts": "--why", "delays": "--before", "off-cpu": "--off-cpu"} {
			p.expectTable(table, answer(t, "latency", "callback", flag, dataset))
		}
		p.expectPreempters("parts")
		p.goTo("#paths?path=" + chainPath)
		p.expectTable("path-parts", answer(t, "latency", "path", "--why", "--path", chainPath, dataset))
		p.expectPreempters("path-parts")

		// The details of one callback have the same of it alone.
		p.goTo("#callbacks")
		id := p.callbackOf("/chain_3/tracker")
		p.goTo(fmt.Sprintf("#callbacks?select=%d", id))
		for table, flag := range map[string]string{"own-parts": "--why", "own-delays": "--before", "own-off-cpu": "--off-cpu"} {
			p.expectTable(table, answer(t, "latency", "callback", flag, "--node", "/chain_3/tracker", dataset))
		}
		p.expectPreempters("own-parts")
		p.expectQuiet()
	})
}

// expectPreempters reads who preempted: in a column that everybody sees, and in the tip of the bar. Some are known.
func (p *page) expectPreempters(table string) {
	p.t.Helper()
	type shownRow struct{ By, For, Tip string }
	shown := evaluate[[]shownRow](p, fmt.Sprintf(`[...document.querySelectorAll("table[data-table=%s] tbody tr")].map(row => ({
		By: row.querySelector("[data-column=preempted_by]:not(.detail)")?.textContent ?? "no such column",
		For: row.querySelector("[data-column=preempted_by_time]")?.textContent ?? "",
		Tip: row.querySelector(".bar")?.title ?? "" }))`, table))
	known := 0
	for i, row := range p.cells(table) {
		by, tip := "–", ""
		var command *string
		if err := json.Unmarshal(row["preempted_by"], &command); err != nil {
			p.t.Fatal(err)
		}
		if command != nil {
			known++
			by, tip = *command+" "+shown[i].For, fmt.Sprintf(", %s of it by %s", shown[i].For, *command)
		}
		if shown[i].By != by || !strings.Contains(shown[i].Tip, tip) {
			p.t.Errorf("row %d of %s: preempted by %q, with the tip %q; want %q and %q", i, table, shown[i].By, shown[i].Tip, by, tip)
		}
	}
	if known == 0 {
		p.t.Errorf("nobody preempted in %s", table)
	}
}

// TestTimelineTellsWho compares what the details of an execution say of times off the CPU with the command's rows.
func TestTimelineTellsWho(t *testing.T) {
	t.Parallel()
	dataset := scheduled(t, 4000)
	everyForm(t, []string{dataset}, func(t *testing.T, p *page) { p.expectTimesOffTheCPU(dataset) })
}

// expectTimesOffTheCPU selects an execution that was preempted.
func (p *page) expectTimesOffTheCPU(dataset string) {
	t := p.t
	p.goTo("#timeline?from=500000000&to=520000000")
	p.wait("window.caretBpf.timeline && window.caretBpf.timeline.from === 500000000 && window.caretBpf.settled")
	p.focus(".timeline canvas")
	p.press(kb.Enter)
	for {
		p.wait(`!!document.querySelector(".details [data-off-cpu]")`)
		if evaluate[string](p, `document.querySelector(".details [data-off-cpu=preempted]").dataset.value`) != "0" {
			break
		}
		shown := evaluate[string](p, "location.hash")
		p.press(kb.Tab) // of every seventh callback nothing is known
		p.wait("location.hash !== " + quoted(shown))
	}
	p.wait(`location.hash.includes("select=")`)
	var thread, start, depth, tid int64
	selected := evaluate[string](p, `new URLSearchParams(location.hash.split("?")[1]).get("select")`)
	if _, err := fmt.Sscanf(selected, "%d.%d.%d", &thread, &start, &depth); err != nil {
		t.Fatalf("%s: %v", selected, err)
	}
	tid = evaluate[int64](p, fmt.Sprintf("window.caretBpf.recording.threads[%d].tid", thread))
	start += recordingBegin(p)
	of := make(map[string]int64)
	for _, row := range answer(t, "latency", "callback", "--off-cpu", "--series", dataset) {
		at := number(t, row["sched_out_timestamp"])
		if number(t, row["tid"]) != tid || at < start || at > start+10_000_000 || len(of) == 2 {
			continue
		}
		var kind, other string
		if err := errors.Join(json.Unmarshal(row["off_cpu"], &kind), json.Unmarshal(row["other_command"], &other)); err != nil {
			t.Fatal(err)
		}
		of[kind] = number(t, row["latency"])
		said := evaluate[string](p, fmt.Sprintf(`document.querySelector(".details [data-off-cpu=%s]").parentElement.textContent`, kind))
		if !strings.Contains(said, other) {
			t.Errorf("%s: %q does not name %s", kind, said, other)
		}
	}
	got := evaluate[map[string]int64](p, `Object.fromEntries([...document.querySelectorAll(".details [data-off-cpu]")].map(({ dataset }) => [dataset.offCpu, Number(dataset.value)]))`)
	if got["preempted"] != of["preempted"] || got["blocked"]+got["woken"] != of["blocked"] || got["woken"] == 0 {
		t.Errorf("the page says %v, the command %v", got, of)
	}
	p.expectQuiet()
}

// callbackOf is the number of the callback of a node that has one.
func (p *page) callbackOf(node string) int {
	p.t.Helper()
	return evaluate[int](p, fmt.Sprintf(`window.caretBpf.recording.callbacks.findIndex(({ node }) =>
		window.caretBpf.recording.nodes[node]?.name === %s)`, quoted(node)))
}

// TestPageComparesRecordings compares the comparison, whose rows lead to what they are of.
func TestPageComparesRecordings(t *testing.T) {
	t.Parallel()
	before, after := synthetic(t, 20_000), slower(t, 20_000, "/chain_3/tracker")
	var want struct{ Entities, Latencies []map[string]json.RawMessage }
	if err := json.Unmarshal(printed(t, exitDiffers, "diff", before, after, "--json", "--quiet"), &want); err != nil {
		t.Fatal(err)
	}
	everyForm(t, []string{after, "--baseline", before}, func(t *testing.T, p *page) {
		p.goTo("#compare")
		p.expectTable("changes", want.Latencies)
		p.expectTable("entities", want.Entities)
		p.click(`table[data-table=changes] tbody tr:first-child a`) // what changed comes first
		p.wait(`document.querySelector(".detail-pane h2")?.textContent.includes("/chain_3/tracker")`)
		p.goTo("#compare")
		p.click(`table[data-table=entities] tbody tr a`)
		p.wait(`document.querySelector(".details h2")?.textContent === "/newcomer"`)
		p.expectQuiet()
	})
}

// TestPageComparesWhereTheTimeWent compares parts of both recordings with the rows that the commands answer of each.
func TestPageComparesWhereTheTimeWent(t *testing.T) {
	t.Parallel()
	before, after := scheduled(t, 5000), scheduled(t, 8000)
	everyForm(t, []string{after, "--baseline", before, "--path", chainPath}, func(t *testing.T, p *page) {
		p.goTo("#compare")
		for table, command := range map[string][]string{
			"compared-parts":      {"latency", "callback", "--why"},
			"compared-path-parts": {"latency", "path", "--why", "--path", chainPath},
		} {
			var want []map[string]json.RawMessage
			for side, dataset := range map[string]string{"a": before, "b": after} {
				for _, row := range answer(t, append(slices.Clone(command), dataset)...) {
					row["recording"] = json.RawMessage(quoted(side))
					want = append(want, row)
				}
			}
			p.expectTable(table, want)
			p.expectPreempters(table)
			sides := evaluate[string](p, fmt.Sprintf(`[...document.querySelectorAll("table[data-table=%s] tbody [data-column=recording]")].map(cell => cell.textContent).join("")`, table))
			if sides != strings.Repeat("ab", len(want)/2) {
				t.Errorf("%s: sides %s", table, sides)
			}
		}
		p.expectQuiet()
	})
}

// slower makes a dataset of a system one node of which takes twice as long, beside a node that is new.
func slower(t testing.TB, callbacks int, node string) (dataset string) {
	t.Helper()
	return written(t, func(write func(*trace.Batch) error) error {
		entities, err := tracetest.System(callbacks, func(rows *trace.Batch) error {
			for i := range rows.Callbacks {
				if row := &rows.Callbacks[i]; row.NodeName == node {
					row.CallbackEndTimestamp.Value += row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value
				}
			}
			return write(rows)
		})
		if err != nil {
			return err
		}
		newcomer := entities.Nodes[0]
		newcomer.NodeHandle, newcomer.NodeName, newcomer.Namespace = newcomer.NodeHandle+1<<40, "newcomer", "/"
		entities.Nodes = append(entities.Nodes, newcomer)
		return write(entities)
	})
}

// TestNamesAreNoPage shows names that would be markup, code or a terminal's commands elsewhere.
func TestNamesAreNoPage(t *testing.T) {
	t.Parallel()
	const name = `/<img src=x onerror="window.harmed=1"><script>window.harmed=2</script></script><!--` + "\u202e\x1b[2J"
	dataset := written(t, func(write func(*trace.Batch) error) error {
		entities, err := tracetest.System(1000, write)
		if err != nil {
			return err
		}
		for i := range entities.Processes {
			entities.Processes[i].Command = name
		}
		for i := range entities.Nodes {
			entities.Nodes[i].NodeName += name
		}
		for i := range entities.CallbackInfos {
			entities.CallbackInfos[i].Symbol = name
		}
		return write(entities)
	})
	everyForm(t, []string{dataset}, func(t *testing.T, p *page) {
		for _, route := range []string{"#overview", "#graph", "#callbacks", "#communications", "#timeline", "#paths", "#losses"} {
			p.goTo(route)
			p.wait("window.caretBpf.ready")
		}
		if evaluate[bool](p, "'harmed' in window") {
			t.Error("a name was run")
		}
		p.goTo("#callbacks")
		p.expectTable("callbacks", answer(t, "latency", "callback", dataset))
		p.expectQuiet()
	})
}
