package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printTable writes aligned columns. A header ending in ">" right-aligns its column.
func printTable(w io.Writer, header []string, rows [][]string) {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
	}
	widths := make([]int, len(header))
	right := make([]bool, len(header))
	for i, name := range header {
		name, right[i] = strings.CutSuffix(name, ">")
		header[i] = name
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{header}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if right[i] {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// printable escapes what could steer a terminal: names come from the traced processes.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// formatCount groups digits: 1,234,567.
func formatCount(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// formatNanoseconds shows a time with the unit that fits.
func formatNanoseconds(ns int64) string {
	switch value := float64(ns); {
	case ns < 1e3:
		return fmt.Sprintf("%d ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.1f µs", value/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.1f ms", value/1e6)
	}
	return fmt.Sprintf("%.2f s", float64(ns)/1e9)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
