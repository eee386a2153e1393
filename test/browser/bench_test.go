package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// BenchmarkPage measures, of datasets of so many callbacks as BENCH_CALLBACKS says: how long it takes from the start of
// `view` until it says its address, from there to the first picture and to the timeline of all; how long frames take
// while zooming from all to a ten-thousandth, as a laptop's wheel does; the memory of server and page.
func BenchmarkPage(b *testing.B) { ofEachSize(b, measurePage) }

// BenchmarkReport measures the size of reports, how long a page takes that is one, and its frames while zooming.
func BenchmarkReport(b *testing.B) { ofEachSize(b, measureReport) }

// measured are the values of all runs, by unit.
type measured map[string][]float64

func (m measured) add(value float64, unit string) { m[unit] = append(m[unit], value) }

// ofEachSize measures datasets of each size, and reports the median of all runs.
func ofEachSize(b *testing.B, measure func(b *testing.B, dataset string, runs measured)) {
	for callbacks := range strings.FieldsSeq(sizes()) {
		b.Run(callbacks, func(b *testing.B) {
			count, err := strconv.Atoi(callbacks)
			if err != nil {
				b.Fatal(err)
			}
			dataset, runs := synthetic(b, count), make(measured)
			for b.Loop() {
				measure(b, dataset, runs)
			}
			for unit, values := range runs {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], unit)
			}
		})
	}
}

func sizes() string {
	if sizes := os.Getenv("BENCH_CALLBACKS"); sizes != "" {
		return sizes
	}
	return "1000 1000000 10000000"
}

func measurePage(b *testing.B, dataset string, runs measured) {
	began := time.Now()
	url, server := serve(b, dataset)
	runs.add(time.Since(began).Seconds()*1000, "ms-address")
	p := openPage(b, url)
	runs.add(evaluate[float64](p, "window.caretBpf.firstPicture"), "ms-first-picture")
	began = time.Now()
	p.goTo("#timeline")
	p.wait("window.caretBpf.ready && window.caretBpf.settled")
	runs.add(time.Since(began).Seconds()*1000, "ms-timeline")
	zoomIn(p, runs)
	runs.add(p.heap(), "MB-page")
	runs.add(resident(b, server), "MB-server")
}

// zoomIn measures how long the timeline's frames take while it is zoomed.
func zoomIn(p *page, runs measured) {
	frames := evaluate[[]float64](p, zoom, chromedp.EvalAwaitPromise)
	slices.Sort(frames)
	runs.add(frames[len(frames)/2], "ms-frame-p50")
	runs.add(frames[len(frames)*99/100], "ms-frame-p99")
	p.wait("window.caretBpf.settled")
}

func measureReport(b *testing.B, dataset string, runs measured) {
	began := time.Now()
	url := reported(b, dataset)
	runs.add(time.Since(began).Seconds(), "s-writing")
	info, err := os.Stat(strings.TrimPrefix(url, "file://"))
	if err != nil {
		b.Fatal(err)
	}
	runs.add(float64(info.Size())/1e6, "MB-file")
	p := openPage(b, url)
	runs.add(evaluate[float64](p, "window.caretBpf.firstPicture"), "ms-first-picture")
	p.goTo("#timeline")
	p.wait("window.caretBpf.ready && window.caretBpf.settled")
	zoomIn(p, runs)
	runs.add(p.heap(), "MB-page")
}

// zoom turns the wheel over the middle of the timeline, once a frame, and gives the times between frames in milliseconds.
const zoom = `(async () => {
	const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect(), times = []
	let last = await new Promise(requestAnimationFrame)
	for (let i = 0; i < 240; i++) {
		canvas.dispatchEvent(new WheelEvent("wheel", {
			deltaY: i < 180 ? -40 : 40, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, cancelable: true
		}))
		const now = await new Promise(requestAnimationFrame)
		times.push(now - last)
		last = now
	}
	return times
})()`

// heap is the memory that the page's objects take, in megabytes.
func (p *page) heap() float64 {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	usage, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		p.t.Fatal(err)
	}
	return usage.UsedSize / 1e6
}

// resident is the most memory that a process has had, in megabytes.
func resident(t testing.TB, of *exec.Cmd) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", of.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes float64
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			if _, err := fmt.Sscan(value, &kilobytes); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kilobytes / 1e3
}
