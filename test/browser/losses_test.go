package browser

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// timelineGutter is where the times of the timeline begin, in pixels.
const timelineGutter = 196

// TestLossesAreDrawn looks for the hatching of a loss, and where it begins and ends, in every picture that has a time.
func TestLossesAreDrawn(t *testing.T) {
	t.Parallel()
	const from, to = 600_000_000, 800_000_000
	dataset := scheduled(t, 4000, trace.Loss{
		Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 12, FromTimestamp: systemBegin + from, ToTimestamp: systemBegin + to,
	})
	everyForm(t, []string{dataset, "--path", chainPath}, func(t *testing.T, p *page) {
		begin, duration := recordingBegin(p), evaluate[float64](p, "window.caretBpf.recording.duration")
		first, last := float64(systemBegin+from-begin)/duration, float64(systemBegin+to-begin)/duration
		for _, picture := range []struct {
			name, route, canvas string
			// left and top are where times begin to the right of, and what is drawn below of, in pixels.
			left, top int
		}{
			{"timeline", "#timeline", ".timeline canvas", timelineGutter, 24},
			{"series", fmt.Sprintf("#callbacks?select=%d", p.callbackOf("/chain_3/tracker")), ".measured .plot canvas", -1, 0},
			{"flow", "#paths?path=" + chainPath, ".flow canvas", 190, 22},
			{"stacked bars", "#paths?path=" + chainPath, ".stacked canvas", -1, 0},
		} {
			p.goTo(picture.route)
			p.wait(fmt.Sprintf("!!document.querySelector(%s)", quoted(picture.canvas)))
			hatched := fmt.Sprintf("(%s)(document.querySelector(%s), %d, %d)", hatching, quoted(picture.canvas), picture.left, picture.top)
			p.wait(hatched + ".length === 2") // frames are drawn when there is time
			got := evaluate[[]float64](p, hatched)
			if math.Abs(got[0]-first) > 0.05 || math.Abs(got[1]-last) > 0.05 {
				t.Errorf("%s: hatched from %.3f to %.3f of the width, want %.3f to %.3f", picture.name, got[0], got[1], first, last)
			}
		}
		p.expectQuiet()
	})
}

// TestLostTimesOffTheCPU looks for losses of times off the CPU alone: no callback and no message is said to be lost.
func TestLostTimesOffTheCPU(t *testing.T) {
	t.Parallel()
	const from, to = 600_000_000, 800_000_000
	dataset := scheduled(t, 4000, trace.Loss{
		Kind: trace.LostSched, Reason: trace.LossMissed, Count: 1, FromTimestamp: systemBegin + from, ToTimestamp: systemBegin + to,
	})
	url, _ := serve(t, dataset, "--path", chainPath)
	p := openPage(t, url)
	for route, canvas := range map[string]string{
		fmt.Sprintf("#callbacks?select=%d", p.callbackOf("/chain_3/tracker")): ".measured .plot canvas", "#paths?path=" + chainPath: ".flow canvas",
	} {
		p.goTo(route)
		p.wait(fmt.Sprintf("window.caretBpf.settled && !!document.querySelector(%s)", quoted(canvas)))
		if evaluate[bool](p, `document.body.textContent.includes("lost or not seen")`) && route[1] == 'c' {
			t.Errorf("%s has a key for losses", route)
		}
		if got := evaluate[[]float64](p, fmt.Sprintf("(%s)(document.querySelector(%s), 0, 22)", hatching, quoted(canvas))); len(got) > 0 {
			t.Errorf("%s is hatched from %v", route, got)
		}
	}
	p.goTo("#timeline")
	p.wait("window.caretBpf.timeline && window.caretBpf.settled")
	lines := fmt.Sprintf("(%s)(document.querySelector('.timeline canvas'), %d, 24)", strings.Replace(hatching, "height / 20", "0", 1), timelineGutter)
	p.wait(lines + ".length === 2")
	if whole := evaluate[[]float64](p, fmt.Sprintf("(%s)(document.querySelector('.timeline canvas'), %d, 24)", strings.Replace(hatching, "height / 20", "height / 4", 1), timelineGutter)); len(whole) > 0 {
		t.Errorf("whole lanes are hatched from %v", whole)
	}
	p.expectQuiet()
}

// hatching gives from where to where a picture is hatched with the color of losses, as shares of its width: the longest
// row of columns of which a twentieth has that color. Without a left border that of the plot is taken.
const hatching = `(canvas, left, top) => {
	const style = getComputedStyle(document.documentElement).getPropertyValue("--lost").trim()
	const [r, g, b] = [1, 3, 5].map((i) => parseInt(style.slice(i, i + 2), 16))
	const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width
	let right = box.width, bottom = box.height
	if (left < 0) {
		const over = canvas.parentElement.querySelector(".u-over").getBoundingClientRect()
		left = over.left - box.left, top = over.top - box.top, right = left + over.width, bottom = top + over.height
	}
	const [x0, y0, width, height] = [left, top, right - left, bottom - top].map((pixels) => Math.floor(pixels * scale))
	if (width < 100 || height < 20) return []
	const { data } = canvas.getContext("2d").getImageData(x0, y0, width, height)
	const columns = []
	for (let x = 0; x < width; x++) {
		let inked = 0
		for (let y = 0; y < height; y++) {
			const i = 4 * (y * width + x)
			if (data[i + 3] > 100 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 90) inked++
		}
		columns.push(inked > height / 20)
	}
	let longest = [0, 0], begin = 0
	columns.forEach((is, x) => {
		if (!is) begin = x + 1
		else if (x + 1 - begin > longest[1] - longest[0]) longest = [begin, x + 1]
	})
	return longest[1] - longest[0] > 10 ? longest.map((x) => x / width) : []
}`
