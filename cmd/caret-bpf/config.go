package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/settings"
	"github.com/caret-bpf/caret-bpf/trace"
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
		Similar: similar,
	}
}

// settingPatterns are what flags of record can be, by their types.
func settingPatterns() map[string]settings.Pattern {
	return map[string]settings.Pattern{
		"duration":             {Text: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
		sizeType:               {Text: `^[0-9]+([kKmMgGtT]([iI][bB])?)?$`, Integers: true},
		new(percentage).Type(): {Text: `^[0-9]+(\.[0-9]+)?%$`},
	}
}

// applyConfig sets the flags of record that the command line has not set, and returns the command to record.
func applyConfig(c console, path string, flags *pflag.FlagSet, command []string) ([]string, error) {
	f, err := openNamed(c.caller, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return recordForm().Apply(path, f, flags, command)
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
	flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
	f := defineRecordFlags(flags)
	command, err := applyConfig(c, path, flags, nil)
	if err != nil {
		return err
	}
	configuration, err := f.finish(command)
	if err != nil {
		return err
	}
	if configuration.PIDs == "" && configuration.Name == "" && len(command) == 0 {
		configuration.All = true // the command line may name the processes
	}
	if err := configuration.Check(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
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
