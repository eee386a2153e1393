package browser

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// drawn is what the page says that it has drawn last.
type drawn struct {
	From, To int64
	Drawn    struct {
		Callbacks int
		Exact     bool
	}
}

// TestTimelineDrawsEveryCallback zooms until every callback is drawn by itself, and counts them.
func TestTimelineDrawsEveryCallback(t *testing.T) {
	t.Parallel()
	dataset := synthetic(t, 30_000)
	begin, duration := spanOf(t, dataset)
	everyForm(t, []string{dataset}, func(t *testing.T, p *page) {
		const parts = 64
		from, to := duration*20/parts, duration*21/parts
		p.goTo(fmt.Sprintf("#timeline?from=%d&to=%d", from, to))
		p.wait(fmt.Sprintf("window.caretBpf.timeline && window.caretBpf.timeline.from === %d && window.caretBpf.timeline.to === %d && window.caretBpf.settled", from, to))
		shown := evaluate[drawn](p, "window.caretBpf.timeline")
		want := 0
		for _, row := range answer(t, "latency", "callback", "--series", dataset) {
			start, end := number(t, row["callback_start_timestamp"])-begin, number(t, row["callback_start_timestamp"])-begin+number(t, row["latency"])
			if start <= to && end >= from {
				want++
			}
		}
		if shown.Drawn.Exact && shown.Drawn.Callbacks != want {
			t.Errorf("%d callbacks are drawn, the command answers %d", shown.Drawn.Callbacks, want)
		}
		if !shown.Drawn.Exact {
			t.Errorf("they are not drawn one by one: %+v", shown)
		}
		p.expectQuiet()
	})
}

// spanOf is when a recording begins, in Unix nanoseconds, and how long it is, as the page counts.
func spanOf(t *testing.T, dataset string) (begin, duration int64) {
	t.Helper()
	url, _ := serve(t, dataset)
	p := openPage(t, url)
	begin, err := strconv.ParseInt(evaluate[string](p, "window.caretBpf.recording.begin"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return begin, evaluate[int64](p, "window.caretBpf.recording.duration")
}

// number reads a time, which JSON gives as text, or a duration.
func number(t testing.TB, value json.RawMessage) int64 {
	t.Helper()
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}
