package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Default returns a file with all settings as comments: each with its explanation and its default. Lines have at most
// so many characters, as far as words allow.
func (f *Form) Default(width int) string {
	var text strings.Builder
	f.each(func(flag *pflag.Flag) {
		writeComment(&text, explain(flag.Usage), width)
		fmt.Fprintf(&text, "#%s:%s\n\n", flag.Name, sample(flag))
	})
	if f.Words != "" {
		writeComment(&text, f.Usage, width)
		fmt.Fprintf(&text, "#%s: []\n", f.Words)
	}
	return text.String()
}

func writeComment(text *strings.Builder, prose string, width int) {
	line := "#"
	for word := range strings.FieldsSeq(prose) {
		if len(line)+1+len(word) > width && line != "#" {
			text.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	text.WriteString(line + "\n")
}

// sample is the default as it would stand in a file, nothing where the explanation tells it.
func sample(flag *pflag.Flag) string {
	switch {
	case isRepeatable(flag):
		return " []"
	case isBool(flag):
		return " " + flag.DefValue
	}
	return ""
}
