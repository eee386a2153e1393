package browser

import (
	"context"
	"os"
	"path/filepath"
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
	dataset := recorded(t, "--sched=full")
	t.Chdir(filepath.Dir(dataset)) // the page shows the name that it is given
	url, _ := serve(t, filepath.Base(dataset), "--from", "/image", "--to", "/actuator")
	p := openPage(t, url)
	for _, picture := range []struct {
		name, route string
		height      int64 // in pixels, so that nothing is cut off
	}{
		{"overview", "#overview", 815},
		{"timeline", "#timeline?from=800000000&to=1300000000", 700},
		{"paths", "#paths", 875},
		{"callbacks", "#callbacks", 885},
	} {
		p.do(chromedp.EmulateViewport(1280, picture.height))
		p.goTo(picture.route)
		p.wait("window.caretBpf.ready && window.caretBpf.settled")
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(into, "page-"+picture.name+".png"), taken, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.expectQuiet()
}
