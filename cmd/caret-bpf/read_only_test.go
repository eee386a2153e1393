package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// onReadOnly leaves nothing writable but a folder, and what a pattern names.
const onReadOnly = `folder=$1 kept=$2; shift 2
mount --bind "$folder" "$folder"
cut -d ' ' -f 5 /proc/self/mountinfo | while read -r place; do
	place=$(printf %b "$place")
	case $place in
	"$folder" | $kept) ;;
	*) mount -o remount,bind,ro "$place" ;;
	esac
done
for place in / /tmp /run /proc; do
	if [ -w "$place" ]; then echo "$place is writable" >&2; exit 99; fi
done
exec "$@"`

// Nothing of what a recorder needs is written anywhere but to its output: where all else is read-only, also /proc and
// /sys, everything is recorded. Without uprobe_multi it makes trace events, so tracefs has to be writable.
func TestReadOnlyRoot(t *testing.T) {
	requireRecording(t)
	kept := "none"
	if loader.Probe().UprobeMulti != nil {
		kept = "/sys/kernel/*"
	}
	for name, chosen := range map[string]func(node *standin.Process, prefix string) []string{
		"a PID": func(node *standin.Process, _ string) []string { return []string{"-p", strconv.Itoa(node.PID())} },
		"a name": func(_ *standin.Process, prefix string) []string {
			return []string{"--name", prefix, "--stop-when-gone"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := fmt.Sprintf("/read_only_%d", now(t))
			node := standin.StartReady(t, standin.Config{
				Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100", "--nodes", "2", "--prefix", prefix},
			})
			r := newRecordedBy(t, 0, chosen(node, prefix)...)
			begunBy(r.command, onReadOnly, filepath.Dir(r.output), kept)
			before := lookAround(t)
			r.recordExactly(func() *oracle.Truth { return oracle.NewTruth(t, node.Stop()) }, oracle.Circumstances{Found: true})
			requireNothingLeft(t, before, r.command.Process.Pid)
		})
	}
}
