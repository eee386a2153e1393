// Package docs keeps the parts of the documentation that are written from code. They stand in Markdown between two
// comments,
//
//	<!-- begin: generated NAME -->
//	<!-- end: generated NAME -->
//
// so that all prose is in the pages, and a fact that code states is stated once. `make docs` writes them, tests compare
// them.
package docs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

var (
	// ErrNoBlock is returned for a page that has no place for a block.
	ErrNoBlock = errors.New("the page has no such block")
	// ErrOutdated is returned for a block that is not what the code says.
	ErrOutdated = errors.New("the block is not up to date; run `make docs`")
)

// WriteVariable is the environment variable with which the tests that compare blocks write them.
const WriteVariable = "CARET_BPF_WRITE_DOCS"

// Width is the length that no line of a page exceeds, if it can be wrapped.
const Width = 100

// Replace returns the page with another content of a block.
func Replace(page []byte, block string, content []byte) ([]byte, error) {
	begin := fmt.Appendf(nil, "<!-- begin: generated %s -->\n", block)
	end := fmt.Appendf(nil, "<!-- end: generated %s -->\n", block)
	before, rest, begun := bytes.Cut(page, begin)
	_, after, ended := bytes.Cut(rest, end)
	if !begun || !ended {
		return nil, fmt.Errorf("%w: %s", ErrNoBlock, block)
	}
	return bytes.Join([][]byte{before, begin, content, end, after}, nil), nil
}

// Write writes a block of the page in a file.
func Write(file, block string, content []byte) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	written, err := Replace(page, block, content)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, written, 0o644)
}

// Check compares a block of the page in a file with what it should be. Where WriteVariable is set, it writes the block
// first.
func Check(file, block string, content []byte) error {
	if os.Getenv(WriteVariable) != "" {
		if err := Write(file, block, content); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	want, err := Replace(page, block, content)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if !bytes.Equal(page, want) {
		return fmt.Errorf("%s: %s: %w", file, block, ErrOutdated)
	}
	return nil
}

// Wrap breaks text at spaces into lines of at most Width characters. All lines but the first are indented. A longer
// word stays whole.
func Wrap(text, indent string) string {
	var wrapped strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		size := len([]rune(word))
		switch {
		case i == 0:
		case length+1+size > Width:
			wrapped.WriteString("\n" + indent)
			length = len([]rune(indent))
		default:
			wrapped.WriteByte(' ')
			length++
		}
		wrapped.WriteString(word)
		length += size
	}
	return wrapped.String()
}
