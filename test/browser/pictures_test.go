package browser

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// picturesFolder names the folder that TestPictures writes the pictures of docs/ to.
const picturesFolder = "CARET_BPF_PICTURES"

// TestPictures takes the pictures that docs/viewers.md shows, of a recording of the tutorial's system.
func TestPictures(t *testing.T) {
	into := os.Getenv(picturesFolder)
	if into == "" {
		t.Skip("without ", picturesFolder)
	}
	url, _ := serve(t, recorded(t), "--from", "/image", "--to", "/actuator")
	p := openPage(t, url)
	for _, route := range strings.Fields("#overview #timeline?from=800000000&to=1300000000 #paths") {
		p.goTo(route)
		p.wait("window.caretBpf.ready && window.caretBpf.settled")
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(route, "#"), "?")
		if err := os.WriteFile(filepath.Join(into, "page-"+name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.expectQuiet()
}
