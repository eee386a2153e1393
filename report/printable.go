package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable escapes what could steer a terminal, reorder or hide text, or end a line: names come from the traced
// processes. Escaped are control characters (C0, C1, DEL), marks of direction, separators of lines and paragraphs, and
// bytes that are no UTF-8.
func Printable(text string) string {
	if isPrintable(text) {
		return text
	}
	return string(AppendPrintable(nil, text, ""))
}

// AppendPrintable appends text to what was escaped, with the same escapes as Printable but for the characters in kept.
func AppendPrintable[T string | []byte](to []byte, text T, kept string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(string(text[:min(len(text), utf8.UTFMax)]))
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, `\x%02x`, text[0])
		case unicode.IsPrint(r) || strings.ContainsRune(kept, r):
			to = append(to, text[:size]...)
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\t':
			to = append(to, `\t`...)
		case r == '\r':
			to = append(to, `\r`...)
		case r < utf8.RuneSelf:
			to = fmt.Appendf(to, `\x%02x`, r)
		case r <= 0xffff:
			to = fmt.Appendf(to, `\u%04x`, r)
		default:
			to = fmt.Appendf(to, `\U%08x`, r)
		}
		text = text[size:]
	}
	return to
}

func isPrintable(text string) bool {
	for i, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

// printableJSON escapes in encoded JSON the characters that Printable escapes, so that it remains JSON of the same
// values. Characters that are not ASCII are found in its strings only.
func printableJSON(encoded []byte) []byte {
	if isPrintable(string(encoded)) {
		return encoded
	}
	var escaped []byte
	for _, r := range string(encoded) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			escaped = utf8.AppendRune(escaped, r)
		case r <= 0xffff:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		}
	}
	return escaped
}
