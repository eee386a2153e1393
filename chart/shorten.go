package chart

import (
	"strings"

	"github.com/rivo/uniseg"
)

// cells is how many columns a text takes in a terminal. A wide East Asian character takes two, a combining mark none.
func cells(text string) int { return uniseg.StringWidth(text) }

// shorten cuts what a text has too much out of its middle: the ends of names tell most.
func shorten(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	var characters []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		characters = append(characters, g.Str())
	}
	room := width - 1
	var head, tail string
	for i := 0; cells(head+characters[i]) <= room/2; i++ {
		head += characters[i]
	}
	for i := len(characters) - 1; cells(head+characters[i]+tail) <= room; i-- {
		tail = characters[i] + tail
	}
	return head + "…" + tail
}

// padLeft makes a text that wide.
func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-cells(text))) + text
}

// widest returns the length of the longest text.
func widest(texts []string) (width int) {
	for _, text := range texts {
		width = max(width, cells(text))
	}
	return width
}

// wrap breaks a text between words into lines of that width, as far as words are no longer.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && cells(line)+1+cells(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
