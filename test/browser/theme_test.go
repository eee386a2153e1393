package browser

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestThemes looks at the colors that the browser computes, where the system prefers a theme, and where one is chosen.
func TestThemes(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, synthetic(t, 1000))
	p := openPage(t, url)
	p.prefer("light")
	light := p.colors()
	p.prefer("dark")
	dark := p.colors()
	for name, theme := range map[string]map[string]color{"light": light, "dark": dark} {
		expectReadable(t, name, theme)
	}
	if light["panel"].luminance() < 0.5 || dark["panel"].luminance() > 0.1 {
		t.Errorf("the ground is %v where light is preferred, and %v where dark is", light["panel"], dark["panel"])
	}
	if ground := evaluate[string](p, "getComputedStyle(document.body).backgroundColor"); ground != fmt.Sprintf("rgb(%d, %d, %d)", dark["ground"][0], dark["ground"][1], dark["ground"][2]) {
		t.Errorf("the page has %s, want %v", ground, dark["ground"])
	}
	for _, chosen := range []struct {
		system, theme string
		want          map[string]color
	}{{"dark", "light", light}, {"light", "dark", dark}} {
		p.prefer(chosen.system)
		for evaluate[string](p, "document.documentElement.dataset.theme ?? ''") != chosen.theme {
			p.click("button.theme")
		}
		if got := p.colors(); !maps.Equal(got, chosen.want) {
			t.Errorf("%s where %s is preferred: %v, want %v", chosen.theme, chosen.system, got, chosen.want)
		}
	}
	// What both are gray in is told apart by more than how light it is.
	for class, isHatched := range map[string]bool{"part-blocked_time": true, "part-executor": false, "key-blocked": true} {
		image := evaluate[string](p, fmt.Sprintf(`(() => {
			const made = document.createElement("span")
			made.className = %s
			document.body.append(made)
			const { backgroundImage } = getComputedStyle(made)
			made.remove()
			return backgroundImage
		})()`, quoted(class)))
		if strings.Contains(image, "gradient") != isHatched {
			t.Errorf("%s has the picture %s", class, image)
		}
	}
	p.expectQuiet()
}

// prefer has the system prefer a theme.
func (p *page) prefer(theme string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	preference := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, preference); err != nil {
		p.t.Fatal(err)
	}
}

// color has red, green and blue, up to 255.
type color [3]int

// luminance is that of WCAG 2.
func (c color) luminance() float64 {
	sum := 0.0
	for i, share := range [3]float64{0.2126, 0.7152, 0.0722} {
		part := float64(c[i]) / 255
		if part <= 0.04045 {
			sum += share * part / 12.92
		} else {
			sum += share * math.Pow((part+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// contrast is that of WCAG 2: from 1 to 21.
func contrast(a, b color) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// colors are those of the theme, by what the style sheet calls them.
func (p *page) colors() map[string]color {
	p.t.Helper()
	all := make(map[string]color)
	for name, text := range evaluate[map[string]string](p, `(() => {
		const made = document.createElement("span"), all = {}
		document.body.append(made)
		for (const name of ["ground", "panel", "text", "quiet", "accent", "lost", "cpu", "others", "executor", "preempted", "blocked", "wakeup"]) {
			made.style.color = "var(--" + name + ")"
			all[name] = getComputedStyle(made).color
		}
		made.remove()
		return all
	})()`) {
		var c color
		if _, err := fmt.Sscanf(text, "rgb(%d, %d, %d)", &c[0], &c[1], &c[2]); err != nil {
			p.t.Fatalf("%s is %s: %v", name, text, err)
		}
		all[name] = c
	}
	return all
}

// expectReadable holds contrasts against what WCAG 2 asks of text (4.5) and of pictures (3).
func expectReadable(t *testing.T, name string, theme map[string]color) {
	t.Helper()
	for _, want := range []struct {
		a, b  string
		least float64
	}{
		{"text", "panel", 7}, {"text", "ground", 7}, {"quiet", "panel", 4.5}, {"quiet", "ground", 4.5}, {"accent", "panel", 4.5}, {"lost", "panel", 3},
		{"executor", "blocked", 3},
	} {
		if got := contrast(theme[want.a], theme[want.b]); got < want.least {
			t.Errorf("%s: the contrast between %s and %s is %.2f, want %.1f", name, want.a, want.b, got, want.least)
		}
	}
}
