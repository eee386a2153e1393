package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// ellipsis stands for what is left out of a name.
const ellipsis = "…"

// Width is the number of cells that a text takes on a terminal. A wide East Asian character takes two, a combining mark
// none.
func Width(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return uniseg.StringWidth(text)
		}
	}
	return len(text)
}

// Shorten leaves out the middle of a text that takes more than so many cells. Of a name with slashes the first part and
// as many of the last ones as there is room for stay whole: /perception/…/points. Else some characters of both ends
// stay.
func Shorten(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	if short, ok := shortenParts(text, width); ok {
		return short
	}
	room := width - Width(ellipsis)
	first := beginning(text, room/2)
	return first + ellipsis + ending(text, room-Width(first))
}

// shortenParts leaves out whole parts between slashes; ok is false if that leaves too much.
func shortenParts(text string, width int) (short string, ok bool) {
	parts := strings.SplitAfter(text, "/")
	if len(parts) < 4 {
		return "", false
	}
	first := parts[0] + parts[1]
	for i := 3; i < len(parts); i++ {
		last := "/" + strings.Join(parts[i:], "")
		if short = first + ellipsis + last; last != "/" && Width(short) <= width {
			return short, true
		}
	}
	return "", false
}

// beginning is what of a text's begin takes at most so many cells.
func beginning(text string, width int) string {
	size := 0
	for _, character := range characters(text) {
		if width -= Width(character); width < 0 {
			break
		}
		size += len(character)
	}
	return text[:size]
}

// ending is what of a text's end takes at most so many cells.
func ending(text string, width int) string {
	size := 0
	for _, character := range slices.Backward(characters(text)) {
		if width -= Width(character); width < 0 {
			break
		}
		size += len(character)
	}
	return text[len(text)-size:]
}

// characters are what a reader takes for such: letters with their marks.
func characters(text string) (all []string) {
	for state := -1; text != ""; {
		var character string
		character, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		all = append(all, character)
	}
	return all
}

// pathJoint is what joins the names of a path: [node]-[topic].
const pathJoint = "]-"

// wrap breaks a text into lines of at most so many cells: at its spaces, behind the joints of a path and, where there
// is neither, in the middle of a word.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		separator := " "
		for piece := range strings.SplitAfterSeq(word, pathJoint) {
			if joined := line + separator + piece; line != "" && Width(joined) <= width {
				line = joined
			} else {
				if line != "" {
					lines = append(lines, line)
				}
				for line = piece; Width(line) > width; {
					begin := cmp.Or(beginning(line, width), characters(line)[0])
					lines, line = append(lines, begin), line[len(begin):]
				}
			}
			separator = ""
		}
	}
	return append(lines, line)
}
