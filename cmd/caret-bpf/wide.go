package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// wide is the flag that lets tables be wider than the terminal.
const wide = "wide"

// defineWideFlag is for commands that print tables. Whoever runs the command sees to it.
func defineWideFlag(flags *pflag.FlagSet) {
	flags.Bool(wide, false, "print tables whole, also if they are wider than the terminal")
}

// tellMissing says what tables had no room for. hasWide says that the command can be asked for it.
func (o *output) tellMissing(hasWide bool) {
	missing := o.screen.Missing()
	if missing == "" {
		return
	}
	shows := "--" + wide
	if !hasWide {
		shows = "`caret-bpf info --" + wide + "`"
	}
	fmt.Fprintf(o, "%s: %s shows them\n", missing, shows)
}
