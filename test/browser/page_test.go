package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a page may take for anything. On a busy machine it takes long.
const patience = 2 * time.Minute

// page is a page in a browser.
type page struct {
	t   testing.TB
	ctx context.Context
	url string

	mutex     sync.Mutex
	said      []string // what the page says of itself where programmers look, and exceptions
	requested []string // URLs
}

// openPage opens a page in a browser of its own.
func openPage(t testing.TB, url string) *page {
	t.Helper()
	path, err := findBrowser()
	if err != nil {
		t.Fatal(err)
	}
	// Root may not have the browser's sandbox, and containers may not have much shared memory.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1280, 800))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, url: url}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, p.note); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(url))
	p.wait("!!window.caretBpf && window.caretBpf.ready")
	return p
}

// note keeps what tests look for in all that the browser tells.
func (p *page) note(event any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		text, _ := json.Marshal(e)
		p.said = append(p.said, string(text))
	case *runtime.EventExceptionThrown:
		text, _ := json.Marshal(e)
		p.said = append(p.said, string(text))
	case *network.EventRequestWillBeSent:
		p.requested = append(p.requested, e.Request.URL)
	}
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for an expression to be true.
func (p *page) wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0))); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// goTo shows another part of the page.
func (p *page) goTo(route string) {
	p.t.Helper()
	evaluate[any](p, "location.hash = "+quoted(route)+", null")
}

// click clicks an element when it is there.
func (p *page) click(selector string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("!!document.querySelector(%s)", quoted(selector)))
	evaluate[any](p, fmt.Sprintf("document.querySelector(%s).click(), null", quoted(selector)))
}

// focus gives the keys to an element when it is there.
func (p *page) focus(selector string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("!!document.querySelector(%s)", quoted(selector)))
	evaluate[any](p, fmt.Sprintf("document.querySelector(%s).focus(), null", quoted(selector)))
}

// press presses keys one by one.
func (p *page) press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// evaluate returns what an expression gives.
func evaluate[T any](p *page, expression string, options ...chromedp.EvaluateOption) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return result
}

func quoted(text string) string {
	literal, _ := json.Marshal(text)
	return string(literal)
}

// expectQuiet fails if the page has told of an error, or asked anyone but its server.
func (p *page) expectQuiet() {
	p.t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, said := range p.said {
		p.t.Errorf("the page says %s", said)
	}
	own, _, _ := strings.Cut(p.url, "#")
	for _, url := range p.requested {
		if !strings.HasPrefix(url, own) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
			p.t.Errorf("the page asks for %s", url)
		}
	}
}

var servedAt = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=\S+`)

// serve begins `caret-bpf view` and returns where it serves.
func serve(t testing.TB, arguments ...string) (url string, server *exec.Cmd) {
	t.Helper()
	command := exec.Command(program, append([]string{"view"}, arguments...)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	var said []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if url := servedAt.FindString(lines.Text()); url != "" {
			go func() {
				for lines.Scan() { // it must not wait for a reader
				}
			}()
			return url, command
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("view says %q", said)
	return "", nil
}

// reported makes a report and returns its URL.
func reported(t testing.TB, arguments ...string) (url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	caretBPF(t, append([]string{"report", "-o", file}, arguments...)...)
	return "file://" + file
}
