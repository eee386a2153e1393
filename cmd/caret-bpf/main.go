// Command caret-bpf records what unmodified ROS 2 processes do, with eBPF uprobes, to a Parquet dataset.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/report"
)

// version is set by the build.
var version = "unknown"

// purpose is what the program does, said of it.
const purpose = "records what unmodified ROS 2 processes do, to a Parquet dataset"

// console is where commands read their environment and write to.
type console struct {
	out, err *output
	getenv   func(string) string
	// caller is who makes and gets the files that commands write; nil is the program with all its rights.
	caller *identity.Identity
	// rootsSockets is where recorders that root runs have their control sockets.
	rootsSockets string
	// launched is the process group of the command that is recorded, 0 if none.
	launched *atomic.Int64
	// giveBack makes the terminal as it was before a command has taken it over; nil where none has.
	giveBack *atomic.Pointer[func()]
	// isProgram says that the process is this program, and may begin it anew; tests call it as a function, too.
	isProgram bool
	// forRecorder says that a recorder has begun the program, as its forwarder.
	forRecorder bool
}

func newConsole(out, err io.Writer, getenv func(string) string) console {
	c := console{
		out: &output{stream: out}, err: &output{stream: err}, getenv: getenv, rootsSockets: rootsSockets, launched: new(atomic.Int64),
		giveBack: new(atomic.Pointer[func()]),
		caller:   identity.Caller(os.Getuid(), os.Geteuid(), getenv),
	}
	c.out.screen.Width = c.out.width(getenv)
	return c
}

// complain prints an error on the side: a marked line for each of several that were joined. No name in one makes a
// line.
func (c console) complain(err error) {
	for _, part := range report.Parts(err) {
		fmt.Fprintln(c.err, "caret-bpf:", report.Printable(part.Error()))
	}
}

// command is one subcommand. run gets the arguments behind the flags; after "--" they are passed on as they are.
type command struct {
	name, arguments, summary string
	// examples are whole command lines, which its help shows.
	examples []string
	// define adds the command's flags and returns what runs with them.
	define func(flags *pflag.FlagSet) func(ctx context.Context, c console, arguments []string) error
	// subcommands make it a group: the first argument names one of them.
	subcommands []command
}

// helpWidth is the length of the longest lines of flags in a help, on a terminal that is not narrower.
const helpWidth = 100

// errHelp ends a command that was only asked for its help.
var errHelp = errors.New("help was printed")

// commands returns all subcommands in the order of the help.
func commands() []command {
	return []command{
		recordCommand(),
		ctlCommand(),
		topCommand(),
		listCommand(),
		probesCommand(),
		checkCommand(),
		configCommand(),
		infoCommand(),
		graphCommand(),
		pathsCommand(),
		sqlCommand(),
		diffCommand(),
		expectCommand(),
		verifyCommand(),
		latencyCommand(),
		periodCommand(),
		frequencyCommand(),
		loadCommand(),
		clocksCommand(),
		viewCommand(),
		reportCommand(),
		exportCommand(),
		publishCommand(),
		forwardCommand(),
		versionCommand(),
		completionCommand(),
		manCommand(),
	}
}

func main() {
	c := newConsole(os.Stdout, os.Stderr, os.Getenv)
	c.isProgram = true
	if len(os.Args) > 1 && os.Args[1] == launch.Argument {
		if err := launch.Become(os.Args[2:]); err != nil {
			c.complain(err)
		}
		os.Exit(exitCommandNotFound)
	}
	if len(os.Args) > 1 && os.Args[1] == loader.CalibrationArgument {
		if err := loader.BecomeCalibrated(os.Stdin, os.Stdout); err != nil {
			c.complain(err)
			os.Exit(exitFailure)
		}
		os.Exit(exitSuccess)
	}
	// Go ends a program whose standard output or error is a closed pipe. A recording must go on, so the signal is caught;
	// it is not ignored, as the launched command would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx := withInterrupts(c.abort)
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == forwardArgument {
		c.forRecorder = true
		arguments[0] = forwardCommand().name
	}
	os.Exit(execute(ctx, c, arguments))
}

// execute runs a command, tells what went wrong and returns the exit code.
func execute(ctx context.Context, c console, arguments []string) int {
	err := run(ctx, c, arguments)
	if c.out.isClosed() { // nobody wants the rest
		err = errors.Join(slices.DeleteFunc(report.Parts(err), func(part error) bool { return errors.Is(part, syscall.EPIPE) })...)
	}
	if failure := c.out.end(); failure != nil && (err == nil || errors.Is(err, errHelp) || errors.Is(err, failure)) {
		err = fmt.Errorf("%w: %w", errNotPrinted, failure)
	}
	code := exitCode(err)
	switch {
	case code == exitSuccess:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(c.err, "caret-bpf: interrupted")
	default:
		c.complain(err)
	}
	_ = c.err.end()
	return code
}

func run(ctx context.Context, c console, arguments []string) error {
	if len(arguments) > 1 && arguments[0] == "help" {
		arguments = append([]string{arguments[1], "--help"}, arguments[2:]...)
	}
	if len(arguments) == 0 || arguments[0] == "help" || arguments[0] == "-h" || arguments[0] == "--help" {
		printHelp(c.out)
		if len(arguments) == 0 {
			return fmt.Errorf("%w: name a command", errUsage)
		}
		return errHelp
	}
	if arguments[0] == "--version" {
		arguments[0] = "version"
	}
	for _, command := range commands() {
		if command.name == arguments[0] {
			return command.run(ctx, c, arguments[1:])
		}
	}
	if similar := similarCommand(arguments[0], commands()); similar != "" {
		return fmt.Errorf("%w: no command %q; did you mean %q?", errUsage, arguments[0], similar)
	}
	return fmt.Errorf("%w: no command %q; `caret-bpf help` lists them", errUsage, arguments[0])
}

func (command command) run(ctx context.Context, c console, arguments []string) error {
	if len(command.subcommands) > 0 {
		return command.runSubcommand(ctx, c, arguments)
	}
	flags := pflag.NewFlagSet(command.name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(c.err)
	flags.Usage = func() {}
	run := command.define(flags)
	if err := flags.Parse(arguments); errors.Is(err, pflag.ErrHelp) {
		width := helpWidth
		if ofTerminal := c.out.screen.Width; ofTerminal > 0 {
			width = min(width, ofTerminal)
		}
		fmt.Fprintf(c.out, "%s\n\nusage: caret-bpf %s %s\n\n%s", command.summary, command.name, command.arguments, flags.FlagUsagesWrapped(width))
		command.printExamples(c.out)
		return errHelp
	} else if err != nil {
		return fmt.Errorf("%w: %w; see `caret-bpf %s --help`", errUsage, suggestFlag(err, flags), command.name)
	}
	hasWide := flags.Lookup(wide) != nil
	if hasWide && flags.Changed(wide) {
		c.out.screen.Width = 0
	}
	err := run(ctx, c, flags.Args())
	c.out.tellMissing(hasWide)
	return err
}

// runSubcommand runs the command of a group that the first argument names.
func (command command) runSubcommand(ctx context.Context, c console, arguments []string) error {
	if len(arguments) > 0 {
		for _, sub := range command.subcommands {
			if sub.name == arguments[0] {
				sub.name = command.name + " " + sub.name
				return sub.run(ctx, c, arguments[1:])
			}
		}
		if similar := similarCommand(arguments[0], command.subcommands); similar != "" {
			return fmt.Errorf("%w: no command `%s %s`; did you mean `%s %s`?", errUsage, command.name, arguments[0], command.name, similar)
		}
	}
	fmt.Fprintf(c.out, "%s\n\nusage: caret-bpf %s %s\n\n", command.summary, command.name, command.arguments)
	for _, sub := range command.subcommands {
		fmt.Fprintf(c.out, "  %-14s %s\n", sub.name, sub.summary)
	}
	command.printExamples(c.out)
	if len(arguments) > 0 && (arguments[0] == "-h" || arguments[0] == "--help") {
		return errHelp
	}
	return fmt.Errorf("%w: name what to ask for after `caret-bpf %s`", errUsage, command.name)
}

func (command command) printExamples(w io.Writer) { printExamples(w, command.examples...) }

func printExamples(w io.Writer, examples ...string) {
	fmt.Fprintln(w, "\nexamples:")
	for _, example := range examples {
		fmt.Fprintln(w, " ", example)
	}
}

func printHelp(w io.Writer) {
	fmt.Fprintf(w, "caret-bpf %s.\n", purpose)
	fmt.Fprintln(w, "\nusage: caret-bpf COMMAND [flags]")
	fmt.Fprintln(w)
	for _, command := range commands() {
		fmt.Fprintf(w, "  %-12s %s\n", command.name, command.summary)
	}
	fmt.Fprintln(w, "\n`caret-bpf COMMAND --help` explains a command.")
	printExamples(w, recordCommand().examples[0], infoCommand().examples[0], latencyPathCommand().examples[0])
	fmt.Fprintln(w, "\nexit codes:")
	for _, code := range exitCodes {
		fmt.Fprintf(w, "  %-4d %s\n", code.code, code.meaning)
	}
}

func noArguments(arguments []string) error {
	if len(arguments) > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, arguments[0])
	}
	return nil
}
