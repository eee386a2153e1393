package chart

import (
	"fmt"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// typesetter knows the font of pictures. It is read when something is drawn: the package plot of gonum.org/v1/plot
// reads twelve whenever a program begins that has it, which every helper process would do.
type typesetter struct {
	face *opentype.Font
}

func newTypesetter() (*typesetter, error) {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("read the font: %w", err)
	}
	return &typesetter{face}, nil
}

func (t *typesetter) sized(size vg.Length) font.Face {
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Face: t.face}
}

// width returns the length of a text.
func (t *typesetter) width(size vg.Length, text string) vg.Length {
	face := t.sized(size)
	return face.Width(text)
}

// fit shortens a text in its middle to a length.
func (t *typesetter) fit(size vg.Length, text string, length vg.Length) string {
	for width := utf8.RuneCountInString(text); width > 1 && t.width(size, text) > length; width-- {
		text = shorten(text, width)
	}
	return text
}

// alignment is where a text is, seen from its place.
type alignment vg.Length

// The alignments of texts: behind their place, around it, or before it.
const (
	left   alignment = 0
	center alignment = 0.5
	right  alignment = 1
)
