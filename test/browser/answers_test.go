package browser

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestPageShowsWhatCommandsAnswer compares every table of the page with the command that answers the same.
func TestPageShowsWhatCommandsAnswer(t *testing.T) {
	t.Parallel()
	dataset := synthetic(t, 20_000)
	path := "[/chain_3/sensor]-[/chain_3/points]-[/chain_3/filter]-[/chain_3/objects]-[/chain_3/tracker]-[/chain_3/tracks]-[/chain_3/control]"
	everyForm(t, []string{dataset, "--path", path}, func(t *testing.T, p *page) {
		for _, shown := range []struct {
			route, table string
			command      []string
		}{
			{"#callbacks", "callbacks", []string{"latency", "callback"}},
			{"#communications", "communications", []string{"latency", "communication"}},
			{"#threads", "loads", []string{"load"}},
			{"#paths?path=" + path, "hops", []string{"latency", "path", "--path", path}},
		} {
			p.goTo(shown.route)
			p.expectTable(shown.table, answer(t, append(shown.command, dataset)...))
		}
		p.expectQuiet()
	})
}

// TestPageSaysWhereTheTimeWent compares parts of times, of a recording that has them.
func TestPageSaysWhereTheTimeWent(t *testing.T) {
	dataset := recorded(t, "--sched=full")
	everyForm(t, []string{dataset}, func(t *testing.T, p *page) {
		p.goTo("#callbacks")
		p.expectTable("parts", answer(t, "latency", "callback", "--why", dataset))
		p.expectTable("callbacks", answer(t, "latency", "callback", dataset))
		p.expectQuiet()
	})
}

// TestPageComparesRecordings compares the comparison.
func TestPageComparesRecordings(t *testing.T) {
	t.Parallel()
	before, after := synthetic(t, 20_000), synthetic(t, 10_000)
	everyForm(t, []string{after, "--baseline", before}, func(t *testing.T, p *page) {
		p.goTo("#compare")
		if rows := p.cells("changes"); len(rows) == 0 {
			t.Error("nothing is compared")
		}
		p.expectQuiet()
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
