package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// hash is the address of what is shown.
func (p *page) hash() string {
	p.t.Helper()
	return evaluate[string](p, "location.hash")
}

// TestKeyboard does without a pointer what people do with one.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, synthetic(t, 4000), "--path", chainPath)
	p := openPage(t, url)
	searchByKeys(t, p)
	timelineByKeys(p)
	seriesByKeys(t, p)
	flowByKeys(p)
	tableByKeys(t, p)
	p.expectQuiet()
}

// searchByKeys goes to the field, finds a node, and shows it.
func searchByKeys(t *testing.T, p *page) {
	t.Helper()
	p.press("/")
	p.wait(`document.activeElement.type === "search"`)
	p.press("chain_3 tracker")
	p.wait(`document.querySelectorAll("#hits [role=option]").length > 0`)
	hits := evaluate[[]string](p, `[...document.querySelectorAll("#hits [role=option] .name")].map(({ textContent }) => textContent)`)
	if hits[0] != "/chain_3/tracker" {
		t.Errorf("found first of all %q", hits[0])
	}
	for _, hit := range hits {
		if !strings.Contains(hit, "tracker") {
			t.Errorf("found %s", hit)
		}
	}
	p.press(kb.Enter)
	p.wait(`document.querySelector(".details h2")?.textContent === "/chain_3/tracker"`)
}

// timelineByKeys chooses a callback, goes to the next one and lets go.
func timelineByKeys(p *page) {
	p.t.Helper()
	p.goTo("#timeline?from=500000000&to=600000000")
	p.wait("window.caretBpf.timeline && window.caretBpf.timeline.from === 500000000 && window.caretBpf.settled")
	p.focus(".timeline canvas")
	selected := `new URLSearchParams(location.hash.split("?")[1]).get("select")`
	p.press(kb.Enter)
	p.wait(selected + " !== null && !!document.querySelector('.details')")
	first := evaluate[string](p, selected)
	p.press(kb.Tab)
	p.wait(selected + " !== " + quoted(first))
	p.press("+")
	p.wait("window.caretBpf.timeline.to - window.caretBpf.timeline.from < 90000000")
	p.press(kb.Escape)
	p.wait(selected + " === null && !document.querySelector('.details')")
	p.press("f")
	p.wait("window.caretBpf.timeline.from === 0")
}

// seriesByKeys looks closer at values, and goes from one to the next.
func seriesByKeys(t *testing.T, p *page) {
	t.Helper()
	p.goTo("#callbacks?select=0")
	p.focus(".measured .plot")
	p.wait(`!!document.querySelector(".measured .plot canvas")`)
	p.press("+")
	p.wait(`location.hash.includes("begin=") && document.activeElement === document.querySelector(".measured .plot")`)
	p.wait(`!!document.querySelector(".measured .plot canvas")`)
	p.press(kb.ArrowRight)
	said := `document.querySelector(".measured .plot [role=status]").textContent`
	p.wait(said + `.includes("latency") && /\d/.test(` + said + `)`)
	first := evaluate[string](p, said)
	p.press(kb.ArrowRight)
	p.wait(said + " !== " + quoted(first))
	p.press("f")
	p.wait(`!location.hash.includes("begin=")`)
	labels := evaluate[[]string](p, `[...document.querySelectorAll(".plot")].map((plot) => plot.getAttribute("aria-label"))`)
	if len(labels) != 2 || !strings.HasPrefix(labels[0], "latency over time") || !strings.HasPrefix(labels[1], "how often each latency occurs") {
		t.Errorf("plots are called %q", labels)
	}
}

// flowByKeys chooses a way of a message, and shows it in the timeline.
func flowByKeys(p *page) {
	p.t.Helper()
	p.goTo("#paths?path=" + chainPath)
	p.focus(".flow canvas")
	p.press(kb.ArrowDown)
	tip := `document.querySelector(".flow .tip")`
	p.wait("!" + tip + ".hidden")
	first := evaluate[string](p, tip+".textContent")
	p.press(kb.ArrowDown)
	p.wait(tip + ".textContent !== " + quoted(first))
	p.press("+")
	p.wait(`location.hash.includes("begin=")`)
	p.press(kb.Enter)
	p.wait(`location.hash.startsWith("#timeline?from=")`)
}

// tableByKeys sorts a table, and follows a row.
func tableByKeys(t *testing.T, p *page) {
	t.Helper()
	p.goTo("#callbacks")
	p.focus("table[data-table=callbacks] th[data-column=count] button")
	p.press(kb.Enter)
	p.wait(`document.querySelector("table[data-table=callbacks] th[data-column=count]").getAttribute("aria-sort") === "descending"`)
	p.focus("table[data-table=callbacks] tbody tr a")
	p.press(kb.Enter)
	p.wait(`location.hash.includes("select=") && !!document.querySelector(".detail-pane h2")`)
	if hash := p.hash(); !strings.Contains(hash, "sort.callbacks=-count") {
		t.Errorf("the order is lost: %s", hash)
	}
}

// TestDeepLinks opens addresses, and has the page write them.
func TestDeepLinks(t *testing.T) {
	t.Parallel()
	dataset := synthetic(t, 10_000)
	url, _ := serve(t, dataset, "--path", chainPath)
	p := openPage(t, url)
	id := p.callbackOf("/chain_3/tracker")

	p.goTo(fmt.Sprintf("#callbacks?select=%d&measure=period&begin=1000000000&end=2000000000&sort.callbacks=-max&filter.callbacks=CHAIN_3&columns.callbacks=all", id))
	p.wait(`!!document.querySelector(".measured .figures") && !!document.querySelector("table[data-table=callbacks]")`)
	if measure := evaluate[string](p, `document.querySelector(".detail-pane [aria-label=measure] [aria-pressed=true]").textContent`); measure != "period" {
		t.Errorf("%s is shown", measure)
	}
	// Of the period before the first start of a time nothing is known.
	count, starts := evaluate[int](p, `Number(document.querySelector(".figures dd").textContent)`), 0
	begin := recordingBegin(p)
	for _, row := range answer(t, "latency", "callback", "--series", "--node", "/chain_3/tracker", dataset) {
		if at := number(t, row["callback_start_timestamp"]) - begin; 1_000_000_000 <= at && at <= 2_000_000_000 {
			starts++
		}
	}
	if count != starts-1 || starts < 10 {
		t.Errorf("%d periods are shown, of %d starts", count, starts)
	}
	p.expectCallbacksOf("chain_3", "max")
	if !evaluate[bool](p, `document.querySelector("table[data-table=callbacks]").classList.contains("all-columns")`) {
		t.Error("columns are left out")
	}

	p.click(".detail-pane [aria-label=measure] button:last-child")
	p.click(".detail-pane [aria-label=later]")
	p.click("table[data-table=callbacks] th[data-column=p50] button")
	evaluate[any](p, `(() => {
		const field = document.querySelector(".table-bar input")
		field.value = "chain_5"
		field.dispatchEvent(new Event("input"))
		return null
	})()`)
	for _, part := range []string{"measure=frequency", "begin=1500000000", "end=2500000000", "sort.callbacks=-p50", "filter.callbacks=chain_5"} {
		if !strings.Contains(p.hash(), part) {
			t.Errorf("%s is not in %s", part, p.hash())
		}
	}
	p.expectCallbacksOf("chain_5", "p50")

	p.goTo("#paths?path=" + chainPath + "&begin=1000000000&end=1400000000")
	p.wait(`!!document.querySelector(".flow canvas")`)
	p.wait(`document.querySelector(".flow").parentElement.querySelector("[role=status]").textContent.includes("way")`)
	evaluate[any](p, `[...document.querySelectorAll(".toolbar button")].find(({ textContent }) => textContent === "in the timeline").click(), null`)
	p.wait(`location.hash === "#timeline?from=1000000000&to=1400000000"`)

	p.goTo(fmt.Sprintf("#graph?select=node.%d&near=1", evaluate[int](p, `window.caretBpf.recording.nodes.findIndex(({ name }) => name === "/chain_3/tracker")`)))
	p.wait(`window.caretBpf.ready && document.querySelectorAll("svg.graph .node").length === 4`) // those of its chain
	p.expectQuiet()
}

// recordingBegin is when the recording begins that is shown, in Unix nanoseconds.
func recordingBegin(p *page) (begin int64) {
	p.t.Helper()
	if _, err := fmt.Sscan(evaluate[string](p, "window.caretBpf.recording.begin"), &begin); err != nil {
		p.t.Fatal(err)
	}
	return begin
}

// expectCallbacksOf expects that the table of callbacks shows those with a name only, sorted downwards by a column.
func (p *page) expectCallbacksOf(name, column string) {
	p.t.Helper()
	rows := p.cells("callbacks")
	last := int64(1 << 62)
	for _, row := range rows {
		value := number(p.t, row[column])
		if !strings.Contains(string(row["node_name"]), name) || value > last {
			p.t.Errorf("not sorted by %s or not of %s: %s", column, name, row)
		}
		last = value
	}
	if len(rows) < 4 {
		p.t.Errorf("%d callbacks of %s", len(rows), name)
	}
}
