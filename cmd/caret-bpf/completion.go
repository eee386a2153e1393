package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

func completionCommand() command {
	return command{
		name: "completion", arguments: "bash|zsh|fish",
		summary: "print a completion script for a shell",
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				scripts := map[string]func() string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
				if len(arguments) != 1 || scripts[arguments[0]] == nil {
					return fmt.Errorf("%w: name one of bash, zsh, fish; for bash: source <(caret-bpf completion bash)", errUsage)
				}
				fmt.Fprint(c.out, scripts[arguments[0]]())
				return nil
			}
		},
	}
}

// flagsOf returns the flags of a command with their usage.
func flagsOf(command command) []*pflag.Flag {
	set := pflag.NewFlagSet(command.name, pflag.ContinueOnError)
	command.define(set)
	var flags []*pflag.Flag
	set.VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag) })
	return flags
}

func bashCompletion() string {
	var script strings.Builder
	script.WriteString("_caret_bpf() {\n\tlocal words\n\tcase ${COMP_WORDS[1]} in\n")
	var names []string
	for _, command := range commands() {
		names = append(names, command.name)
		words := []string{"--help"}
		for _, flag := range flagsOf(command) {
			words = append(words, "--"+flag.Name)
		}
		fmt.Fprintf(&script, "\t%s) words=\"%s\" ;;\n", command.name, strings.Join(words, " "))
	}
	script.WriteString("\tesac\n")
	fmt.Fprintf(&script, "\t[ \"$COMP_CWORD\" -eq 1 ] && words=\"%s help\"\n", strings.Join(names, " "))
	script.WriteString("\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\n")
	script.WriteString("complete -o default -F _caret_bpf caret-bpf\n")
	return script.String()
}

func zshCompletion() string {
	return "#compdef caret-bpf\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion()
}

func fishCompletion() string {
	var script strings.Builder
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `\'`) + "'" }
	for _, command := range commands() {
		fmt.Fprintf(&script, "complete -c caret-bpf -n __fish_use_subcommand -a %s -d %s\n", command.name, quote(command.summary))
		for _, flag := range flagsOf(command) {
			short := ""
			if flag.Shorthand != "" {
				short = " -s " + flag.Shorthand
			}
			fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from %s' -l %s%s -d %s\n", command.name, flag.Name, short, quote(flag.Usage))
		}
	}
	return script.String()
}
