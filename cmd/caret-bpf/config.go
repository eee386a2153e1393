package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/settings"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trigger"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	// configFlag names the file with settings of a recording.
	configFlag = "config"
	// commandSetting is the setting for the command to record.
	commandSetting = "command"
)

// recordForm is what can stand in a file for record.
func recordForm() *settings.Form {
	return &settings.Form{
		Define:  func(flags *pflag.FlagSet) { defineRecordFlags(flags) },
		Words:   commandSetting,
		Usage:   "start this command, a list of words, and record it with its children from the first event, such as [ros2, launch, my_pkg, my.launch.py]",
		Rivals:  []string{"pid", "name", "all", commandSetting},
		Check:   checkSetting,
		Similar: similar,
	}
}

// bounds are settings that mean no bound where they are not set: 0 is none of them.
var bounds = []string{
	"duration", "max-rows", "keep-age", "keep-segments", "keep-total-age", "segment-period",
}

// checkSetting returns what is wrong with a text for a setting, as far as the text alone tells.
func checkSetting(name, text string) (err error) {
	switch name {
	case "name", "select-node", "ignore-node", "select-topic", "ignore-topic":
		_, err = regexp.Compile(text)
	case "trigger":
		_, err = trigger.Parse(text)
	case "attribute":
		_, err = trace.ParseAttribute(text)
	case "mode":
		_, err = writer.ParseMode(text)
	case "pid":
		_, err = target.ParsePIDs(text)
	case "metrics":
		_, err = parseMetrics(text)
	default:
		if slices.Contains(bounds, name) {
			err = checkBound(text)
		}
	}
	return err
}

// checkBound refuses bounds of nothing.
func checkBound(text string) error {
	duration, err := time.ParseDuration(text)
	if err != nil {
		number, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return nil //nolint:nilerr // it is too large for one that is too small
		}
		duration = time.Duration(number)
	}
	if duration <= 0 {
		return fmt.Errorf("%s is no bound: leave the setting out, and there is none", text)
	}
	return nil
}

// settingPatterns are what flags of record can be, by their types.
func settingPatterns() map[string]settings.Pattern {
	return map[string]settings.Pattern{
		"duration":             {Text: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		sizeType:               {Text: `^[0-9]+([kKmMgGtT]([iI][bB])?)?$`, Integers: true},
		new(percentage).Type(): {Text: `^[0-9]+(\.[0-9]+)?%$`},
	}
}

// openNamed opens a file that the user has named, with the rights of an identity. It waits for a pipe, but for no
// lease.
func openNamed(as *identity.Identity, path string) (f *os.File, err error) {
	err = as.Run(func() error {
		flags := os.O_RDONLY
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			flags |= unix.O_NONBLOCK
		}
		f, err = os.OpenFile(path, flags, 0)
		if errors.Is(err, unix.EAGAIN) {
			err = fmt.Errorf("%s: %w", path, trace.ErrLeased)
		}
		return err
	})
	return f, err
}

// openSettings opens a file with settings so that it can be read twice: what can be read only once, as a pipe, is
// copied.
func openSettings(as *identity.Identity, path string) (f *os.File, copied bool, err error) {
	named, err := openNamed(as, path)
	if err != nil {
		return nil, false, err
	}
	info, err := named.Stat()
	if err != nil || info.Mode().IsRegular() {
		return named, false, err
	}
	defer func() { _ = named.Close() }()
	fd, err := unix.MemfdCreate("settings", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, false, fmt.Errorf("copying %s: %w", path, err)
	}
	f = os.NewFile(uintptr(fd), path)
	if _, err = io.Copy(f, io.LimitReader(named, settings.MaxFile+1)); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, true, err
}

// readingCopy is a command line by which the program reads a copy of the settings when it begins anew. The last one
// that is named counts.
func readingCopy(line []string, settings *os.File) []string {
	fd := settings.Fd()
	_, _ = unix.FcntlInt(fd, unix.F_SETFD, 0) // a descriptor's flags can be set
	end := len(line)
	if dashes := slices.Index(line, "--"); dashes >= 0 {
		end = dashes
	}
	return slices.Insert(slices.Clone(line), end, fmt.Sprintf("--%s=/proc/self/fd/%d", configFlag, fd))
}

func configCommand() command {
	return command{
		name: "config", arguments: "COMMAND", summary: "files with settings for record: print all settings, check a file",
		examples: []string{
			"caret-bpf config default >session.yaml",
			"caret-bpf config check session.yaml",
			"caret-bpf config schema >session.schema.json",
		},
		subcommands: []command{configDefaultCommand(), configCheckCommand(), configSchemaCommand()},
	}
}

func configDefaultCommand() command {
	return command{
		name: "default", summary: "print a file with all settings, each with its explanation",
		examples: []string{"caret-bpf config default", "caret-bpf config default >session.yaml"},
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				_, err := fmt.Fprint(c.out, "# Settings for `caret-bpf record --config FILE`. The command line goes before.\n\n", recordForm().Default(helpWidth))
				return err
			}
		},
	}
}

func configCheckCommand() command {
	return command{
		name: "check", arguments: "FILE", summary: "say what is wrong with a file of settings",
		examples: []string{"caret-bpf config check session.yaml", "caret-bpf config check session.yaml && sudo caret-bpf record --config session.yaml"},
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				if len(arguments) != 1 {
					return fmt.Errorf("%w: name one file", errUsage)
				}
				if err := checkConfig(c, arguments[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintln(c.out, arguments[0], "can be used")
				return err
			}
		},
	}
}

// checkConfig checks a file as record would.
func checkConfig(c console, path string) error {
	file, _, err := openSettings(c.caller, path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
	f := defineRecordFlags(flags)
	command, err := recordForm().Apply(path, file, flags, nil)
	if err != nil {
		return err
	}
	configuration, err := f.finish(command)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if configuration.PIDs == "" && configuration.Name == "" && len(command) == 0 {
		configuration.All = true // the command line may name the processes
	}
	err = errors.Join(f.checkStart(false), configuration.Check())
	if err == nil {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := settings.Lines(file)
	var problems []error
	for _, problem := range report.Parts(err) {
		at := path
		if line := lineOf(problem, lines); line > 0 {
			at = fmt.Sprintf("%s:%d", path, line)
		}
		problems = append(problems, fmt.Errorf("%s: %w", at, problem))
	}
	return errors.Join(problems...)
}

// namedFlag is a flag in a message.
var namedFlag = regexp.MustCompile(`--([a-z-]+)`)

// lineOf returns in which line the last of the settings stands that a message names; 0 where none does.
func lineOf(problem error, lines map[string]int) (line int) {
	for _, named := range namedFlag.FindAllStringSubmatch(problem.Error(), -1) {
		line = max(line, lines[named[1]])
	}
	return line
}

func configSchemaCommand() command {
	return command{
		name: "schema", summary: "print the JSON schema of files with settings, for editors",
		examples: []string{"caret-bpf config schema", "caret-bpf config schema >session.schema.json"},
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				schema, err := configSchema()
				if err != nil {
					return err
				}
				_, err = c.out.Write(schema)
				return err
			}
		},
	}
}

func configSchema() ([]byte, error) {
	return recordForm().Schema("caret-bpf record", settingPatterns())
}
