package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Lengths of pictures, in points of 1/72 inch.
const (
	pictureWidth = 900
	margin       = 14
	lineHeight   = 14
	// textWidth is about how many characters fit a line.
	textWidth = 150
	// dotsPerInch makes a PNG 1,500 pixels wide.
	dotsPerInch = 120
)

// MaxPanels is how many panels SVG and PNG have at most.
const MaxPanels = 60

// picture is a panel for SVG and PNG.
type picture struct {
	title  string
	height vg.Length // with title and axes
	x, y   axis
	shapes
	legend []legendEntry
	// notes stand below the panel.
	notes []string
}

type legendEntry struct {
	color color.Color
	name  string
}

// newPicture returns a picture of that height.
func newPicture(title string, height vg.Length) *picture {
	return &picture{title: title, height: height}
}

// newEmptyPicture returns a picture of what has nothing to show but notes.
func newEmptyPicture(title string, notes []string) *picture {
	return &picture{title: title, height: lineHeight, notes: notes}
}

// extra returns the height of what stands below the axes.
func (p *picture) extra() vg.Length {
	return lineHeight * vg.Length(len(p.legendLines())+len(p.notes))
}

// legendLines arranges the legend in lines.
func (p *picture) legendLines() (lines [][]legendEntry) {
	length := 0
	for _, entry := range p.legend {
		wide := utf8.RuneCountInString(entry.name) + 6
		if len(lines) == 0 || length+wide > textWidth {
			lines, length = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], entry)
		length += wide
	}
	return lines
}

// pictureCanvas is what SVG and PNG are drawn on.
type pictureCanvas interface {
	vg.Canvas
	io.WriterTo
}

// fonts name those that are like the one that SVG was measured with, where that one is not installed. No name in a
// picture looks like this: quotation marks are escaped in text.
var fonts = struct{ written, wanted []byte }{[]byte(`"font-family:Liberation Sans;`), []byte(`"font-family:Liberation Sans,Arial,Helvetica,sans-serif;`)}

// SVG writes the figure as SVG. It returns ErrNothing for a figure without a panel, ErrTooMuch for one with more than
// MaxPanels, and errors of w.
func (f *Figure) SVG(w io.Writer) error {
	var drawn bytes.Buffer
	err := f.draw(&drawn, func(width, height vg.Length) pictureCanvas { return vgsvg.New(width, height) })
	if err != nil {
		return err
	}
	if _, err := w.Write(bytes.ReplaceAll(drawn.Bytes(), fonts.written, fonts.wanted)); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// PNG writes the figure as PNG, with errors like those of SVG.
func (f *Figure) PNG(w io.Writer) error {
	return f.draw(w, func(width, height vg.Length) pictureCanvas {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
	})
}

func (f *Figure) draw(w io.Writer, newCanvas func(width, height vg.Length) pictureCanvas) error {
	switch {
	case len(f.Panels) == 0:
		return ErrNothing
	case len(f.Panels) > MaxPanels:
		return fmt.Errorf("%w: %d panels, and a picture has %d at most", ErrTooMuch, len(f.Panels), MaxPanels)
	}
	text, err := newTypesetter()
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	frame := f.frame(textWidth)
	var pictures []*picture
	height := vg.Length(2 * margin)
	if f.Title != "" {
		height += 2 * lineHeight
	}
	for _, panel := range f.Panels {
		p := panel.picture(frame)
		pictures = append(pictures, p)
		height += p.height + p.extra() + margin
	}
	var notes []string
	for _, note := range f.Notes {
		notes = append(notes, wrap(note, textWidth)...)
	}
	height += lineHeight * vg.Length(len(notes))

	to := newCanvas(pictureWidth, height)
	c := &pen{Canvas: to, typesetter: text}
	c.box(vg.Point{}, vg.Point{X: pictureWidth, Y: height}, color.White)
	at := height - margin // the top of what comes next
	if f.Title != "" {
		c.text(14, c.fit(14, f.Title, pictureWidth-2*margin), vg.Point{X: margin, Y: at}, left)
		at -= 2 * lineHeight
	}
	at = c.panels(pictures, at)
	for _, note := range notes {
		c.text(10, note, vg.Point{X: margin, Y: at}, left)
		at -= lineHeight
	}
	if _, err := to.WriteTo(w); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// entryWidth is the length of an entry of a legend, with the space behind it.
func (c *pen) entryWidth(entry legendEntry) vg.Length { return c.width(10, entry.name) + 30 }

// longest returns the length of the longest line below the axes.
func (c *pen) longest(p *picture) (length vg.Length) {
	for _, line := range p.legendLines() {
		var sum vg.Length
		for _, entry := range line {
			sum += c.entryWidth(entry)
		}
		length = max(length, sum)
	}
	for _, note := range p.notes {
		length = max(length, c.width(10, note))
	}
	return length
}

// panels draws panels below each other, so that their axes of time are, too. It returns where the next thing begins.
func (c *pen) panels(pictures []*picture, at vg.Length) vg.Length {
	// The panel that needs most room left of its axis says where all axes are.
	insets := make([]vg.Length, len(pictures))
	for i, p := range pictures {
		insets[i] = c.inset(&p.y)
	}
	leftmost := margin + slices.Max(insets)
	for _, p := range pictures {
		c.panel(p, vg.Rectangle{Min: vg.Point{X: leftmost, Y: at - p.height}, Max: vg.Point{X: pictureWidth - margin, Y: at}})
		at -= p.height
		below := min(leftmost, pictureWidth-margin-c.longest(p))
		for _, line := range p.legendLines() {
			x := below
			for _, entry := range line {
				c.box(vg.Point{X: x, Y: at - 11}, vg.Point{X: x + 10, Y: at - 2}, entry.color)
				c.text(10, entry.name, vg.Point{X: x + 14, Y: at}, left)
				x += c.entryWidth(entry)
			}
			at -= lineHeight
		}
		for _, note := range p.notes {
			c.text(10, note, vg.Point{X: below, Y: at}, left)
			at -= lineHeight
		}
		at -= margin
	}
	return at
}
