package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/standin"
)

// What hinders a recording is told, with what to do about it, whichever way it was to choose its processes. Nothing is
// left of the attempt: no dataset, nothing in the kernel, no process. The process that was to be recorded goes on, and
// a command was not run.
func TestRefusedRecordingLeavesNothing(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: strings.Fields("--rate 100 --depth 1000 --expect-all")})
	without := func(capability uintptr) func(*exec.Cmd, string) {
		return func(c *exec.Cmd, _ string) {
			c.SysProcAttr = asNobody(slices.DeleteFunc(slices.Clone(least), func(one uintptr) bool { return one == capability }))
		}
	}
	shell := func(script string) func(*exec.Cmd, string) {
		return func(c *exec.Cmd, folder string) { begunBy(c, script, folder) }
	}
	for name, test := range map[string]struct {
		user   int // whose the output's folder is
		hinder func(c *exec.Cmd, folder string)
		flags  string
		code   int
		says   []string
	}{
		"without BTF": {
			hinder: shell(`shift; mount -t tmpfs none /sys/kernel/btf; exec "$@"`),
			code:   exitKernel, says: []string{"kernel BTF", "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF=y"},
		},
		"the output is read-only": {
			hinder: shell(`mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"`),
			code:   exitOutput, says: []string{"read-only file system", "choose another directory with -o"},
		},
		"tracefs is read-only": {
			hinder: shell(`shift; mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing; mount -o remount,bind,ro /sys/kernel/tracing
[ ! -d /sys/kernel/debug ] || mount -t tmpfs none /sys/kernel/debug; exec "$@"`),
			flags: "--force-tracefs", code: exitPermission, says: []string{"tracefs is mounted read-only", "remount it read-write"},
		},
		"without privileges": {
			user: nobody, hinder: func(c *exec.Cmd, _ string) { c.SysProcAttr = asNobody(nil) },
			code: exitPermission, says: []string{"CAP_", "run with sudo"},
		},
		"without CAP_BPF":     {user: nobody, hinder: without(unix.CAP_BPF), code: exitPermission, says: []string{"CAP_BPF missing", "run with sudo"}},
		"without CAP_PERFMON": {user: nobody, hinder: without(unix.CAP_PERFMON), code: exitPermission, says: []string{"CAP_PERFMON missing", "run with sudo"}},
	} {
		for way, chosen := range map[string]func(folder string) []string{
			"a PID":     func(string) []string { return []string{"-p", fmt.Sprint(node.PID())} },
			"all":       func(string) []string { return []string{"--all"} },
			"a command": func(folder string) []string { return []string{"--", "touch", filepath.Join(folder, "ran")} },
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				folder := folderOf(t, test.user, 0o755)
				arguments := slices.Concat([]string{"record", "-o", filepath.Join(folder, "recording")}, strings.Fields(test.flags), chosen(folder))
				c := programCommand(arguments...)
				test.hinder(c, folder)
				before := lookAround(t)
				code, problems := runProgram(t, c)
				if code != test.code {
					t.Errorf("exit code %d: %s", code, problems)
				}
				for _, wanted := range test.says {
					if !strings.Contains(problems, wanted) {
						t.Errorf("no %q in %s", wanted, problems)
					}
				}
				if found := list(t, folder); len(found) > 0 {
					t.Errorf("left are %v", found)
				}
				requireNothingLeft(t, before, c.Process.Pid)
			})
		}
	}
	node.Stop()
}
