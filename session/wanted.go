package session

import (
	"strings"

	"github.com/caret-bpf/caret-bpf/target"
)

// wants reports whether the user wants a process recorded that begins to run a program.
func (c *compiled) wants(p *target.Process) bool {
	return c.mayWant(p.Command) || c.matchesCommandLine(p.CommandLine)
}

// mayWant reports whether a process may be wanted of which only the command is known.
func (c *compiled) mayWant(command string) bool {
	return c.name == nil || c.name.MatchString(command)
}

// matchesCommandLine reports whether a name fits a command line.
func (c *compiled) matchesCommandLine(arguments []string) bool {
	return c.name.MatchString(strings.Join(arguments, " "))
}
