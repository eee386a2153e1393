package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

func manCommand() command {
	return command{
		name: "man", summary: "print the manual page",
		examples: []string{
			"caret-bpf man | man -l -",
			"caret-bpf man >caret-bpf.1",
		},
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				writeManual(c.out)
				return nil
			}
		},
	}
}

// writeManual prints the manual page in roff's man macros (groff_man(7)), from the texts of the helps.
func writeManual(w io.Writer) {
	fmt.Fprintf(w, ".TH CARET\\-BPF 1 \"\" \"caret\\-bpf %s\" \"User Commands\"\n", roff(version))
	fmt.Fprintf(w, ".SH NAME\ncaret\\-bpf \\- %s\n", roff(purpose))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B caret\\-bpf\n.I COMMAND\n[flags]\n.SH COMMANDS\n")
	for _, command := range commands() {
		command.writeManual(w)
	}
	fmt.Fprintf(w, ".SH EXIT STATUS\n")
	for _, code := range exitCodes {
		fmt.Fprintf(w, ".TP\n.B %d\n%s\n", code.code, roff(code.meaning))
	}
}

func (command command) writeManual(w io.Writer) {
	fmt.Fprintf(w, ".SS \"caret\\-bpf %s\"\n%s\n", roff(command.name), roff(command.summary))
	for _, sub := range command.subcommands {
		sub.name = command.name + " " + sub.name
		sub.writeManual(w)
	}
	if command.define == nil {
		return
	}
	for usage := range strings.SplitSeq(strings.TrimSpace("caret-bpf "+command.name+" "+command.arguments), "\n") {
		fmt.Fprintf(w, ".P\n.EX\n%s\n.EE\n", roff(strings.TrimSpace(usage)))
	}
	flags := pflag.NewFlagSet(command.name, pflag.ContinueOnError)
	flags.SortFlags = false
	command.define(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(flag)
		short := ""
		if flag.Shorthand != "" {
			short = "-" + flag.Shorthand + ", "
		}
		fmt.Fprintf(w, ".TP\n.BR %s \" \" \"\\fI%s\\fR\"\n%s\n", quoteRoff(short+"--"+flag.Name), roff(value), roff(usage))
	})
	fmt.Fprintf(w, ".P\n.EX\n")
	for _, example := range command.examples {
		fmt.Fprintf(w, "%s\n", roff(example))
	}
	fmt.Fprintf(w, ".EE\n")
}

// roff is a text in which nothing is taken for a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", `\&...`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// quoteRoff is a text as one argument of a macro.
func quoteRoff(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
