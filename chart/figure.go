package chart

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrTooMuch is wrapped by errors of pictures that would have more to draw than anybody can tell apart.
var ErrTooMuch = errors.New("too much to draw")

// ErrNothing is returned for figures without a panel.
var ErrNothing = errors.New("there is nothing to draw")

// Panel is one drawing of a figure: a *Histogram, *TimeSeries, *StackedBar, *MessageFlow or *CallbackScheduling.
type Panel interface {
	// span is of the times that the panel shows; ok is false where it shows none, or has no axis of time.
	span() (s span, ok bool)
	// terminal returns the lines of the panel in a terminal.
	terminal(f frame) []string
	// picture returns the panel for SVG and PNG.
	picture(f frame) *picture
}

// frame is what a panel is drawn into.
type frame struct {
	width int // of lines, in characters
	// span is the axis of time that the panels of a figure have in common.
	span span
}

// Figure is what is drawn at once. Its panels stand below each other, and those that show times have one axis of time
// in common.
type Figure struct {
	Title  string
	Panels []Panel
	// Notes are said below the panels.
	Notes []string
}

// leastWidth is the width of the narrowest terminal that a figure is drawn for: lines are cut in a narrower one.
const leastWidth = 40

// Text writes the figure for a terminal of that many columns. It returns ErrNothing for a figure without a panel, and
// errors of w.
func (f *Figure) Text(w io.Writer, columns int) error {
	if len(f.Panels) == 0 {
		return ErrNothing
	}
	frame := f.frame(max(columns, leastWidth))
	var text strings.Builder
	if f.Title != "" {
		text.WriteString(shorten(f.Title, frame.width) + "\n\n")
	}
	for i, panel := range f.Panels {
		if i > 0 {
			text.WriteByte('\n')
		}
		for _, line := range panel.terminal(frame) {
			text.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	if len(f.Notes) > 0 {
		text.WriteByte('\n')
	}
	for _, note := range f.Notes {
		text.WriteString(note + "\n")
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

func (f *Figure) frame(width int) frame {
	of := frame{width: width}
	any := false
	for _, panel := range f.Panels {
		s, ok := panel.span()
		switch {
		case !ok:
		case !any:
			of.span, any = s, true
		default:
			of.span = of.span.with(s)
		}
	}
	if of.span.last == of.span.first {
		of.span.last++ // an axis has a length
	}
	return of
}

// span is a part of time, in Unix nanoseconds.
type span struct {
	first, last int64
}

func (s span) with(other span) span {
	return span{min(s.first, other.first), max(s.last, other.last)}
}

// Missing counts what cannot be drawn, because it has no value: messages that were lost, for instance.
type Missing struct {
	Count uint64
	// What completes the count to a text: "lost".
	What string
}

// missingText lists what is missing: "3 lost, 1 unknown"; "" for nothing.
func missingText(all []Missing) string {
	var parts []string
	for _, m := range all {
		if m.Count > 0 {
			parts = append(parts, groupDigits(m.Count)+" "+m.What)
		}
	}
	return strings.Join(parts, ", ")
}

// summary says how many values a panel draws, and what it lacks.
func summary(count uint64, of string, missing []Missing) string {
	text := counted(count, of)
	if left := missingText(missing); left != "" {
		text += "; not among them: " + left
	}
	return text
}
