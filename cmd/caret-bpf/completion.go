package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// shells are those that there are scripts for.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand() command {
	return command{
		name: "completion", arguments: "bash|zsh|fish",
		summary: "print a completion script for a shell",
		examples: []string{
			"source <(caret-bpf completion bash)",
			"caret-bpf completion fish >~/.config/fish/completions/caret-bpf.fish",
		},
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

// flagsOf returns the flags of a command and of its subcommands, with their usage.
func flagsOf(of command) []*pflag.Flag {
	var flags []*pflag.Flag
	for _, sub := range append([]command{of}, of.subcommands...) {
		if sub.define == nil {
			continue
		}
		set := pflag.NewFlagSet(sub.name, pflag.ContinueOnError)
		sub.define(set)
		set.VisitAll(func(flag *pflag.Flag) {
			if !slices.ContainsFunc(flags, func(known *pflag.Flag) bool { return known.Name == flag.Name }) {
				flags = append(flags, flag)
			}
		})
	}
	return flags
}

func bashCompletion() string {
	var script strings.Builder
	script.WriteString("_caret_bpf() {\n\tlocal words\n\tcase ${COMP_WORDS[1]} in\n")
	var names []string
	for _, command := range commands() {
		names = append(names, command.name)
		words := []string{"--help"}
		for _, sub := range command.subcommands {
			words = append(words, sub.name)
		}
		for _, flag := range flagsOf(command) {
			words = append(words, "--"+flag.Name)
			if flag.Shorthand != "" {
				words = append(words, "-"+flag.Shorthand)
			}
		}
		if command.name == "completion" {
			words = append(words, shells...)
		}
		fmt.Fprintf(&script, "\t%s) words=\"%s\" ;;\n", command.name, strings.Join(words, " "))
	}
	fmt.Fprintf(&script, "\thelp) words=\"%s\" ;;\n", strings.Join(names, " "))
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
	fmt.Fprintf(&script, "complete -c caret-bpf -n __fish_use_subcommand -a help -d %s\n", quote("explain a command"))
	fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from completion' -a %s\n", quote(strings.Join(shells, " ")))
	for _, command := range commands() {
		fmt.Fprintf(&script, "complete -c caret-bpf -n __fish_use_subcommand -a %s -d %s\n", command.name, quote(command.summary))
		fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from help' -a %s\n", command.name)
		fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from %s' -l help -s h -d %s\n", command.name, quote("explain the command"))
		for _, sub := range command.subcommands {
			fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from %s' -a %s -d %s\n", command.name, sub.name, quote(sub.summary))
		}
		for _, flag := range flagsOf(command) {
			short := ""
			if flag.Shorthand != "" {
				short = " -s " + flag.Shorthand
			}
			fmt.Fprintf(&script, "complete -c caret-bpf -n '__fish_seen_subcommand_from %s' -l %s%s -d %s\n", command.name, flag.Name, short, quote(strings.ReplaceAll(flag.Usage, "`", "")))
		}
	}
	return script.String()
}
