package tracers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

func TestScript(t *testing.T) {
	script := script([]probes.Site{
		{Event: abi.EventCallbackStart, Path: "/a", Symbol: "start"},
		{Event: abi.EventExecutorExecute, Path: "/a", Symbol: "helper"},
		{Event: abi.EventRclPublish, Form: abi.FormLoaned, Path: "/a", Symbol: "loaned"},
		{Event: abi.EventDDSBindAddrToStamp, Form: abi.FormFastDDS, Parameter: 16, Path: "/b", Symbol: "stamp"},
	}, "/pid == 7/")
	const want = `uprobe:/a:"start" /pid == 7/ { printf("%d %llu callback_start %lx %lx\n", tid, nsecs, arg0, arg1); }
uprobe:/b:"stamp" /pid == 7/ { printf("%d %llu dds_bind_addr_to_stamp %lx %lx\n", tid, nsecs, *(int32 *)(arg1 + 16), *(uint32 *)(arg1 + 24)); }
`
	if script != want {
		t.Errorf("%s", script)
	}
}

func TestLostEvents(t *testing.T) {
	if lost := lostEvents([]byte("1 2 callback_end 3\nLost 5 events\nLost 10 events\n")); lost != 15 {
		t.Error(lost)
	}
}

// install puts a shell script where a tool is looked for, before all others.
func install(t *testing.T, name, script string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

func TestBpftrace(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		lost   uint64
		fails  string
	}{
		"it prints":   {`echo "1 2 callback_start 3\n1 2 callback_end 3" > "$2"; trap 'echo Lost 4 events; exit 0' INT; while sleep 0.01; do :; done`, 4, ""},
		"it fails":    {"echo no such function >&2; exit 1", 0, "no such function"},
		"no bpftrace": {"", 0, "bpftrace"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.script == "" {
				t.Setenv("PATH", t.TempDir())
			} else {
				install(t, "bpftrace", test.script)
			}
			running, err := StartBpftrace(7, FirstThread, nil, filepath.Join(t.TempDir(), "output"))
			if test.fails != "" {
				if !errors.Is(err, ErrBpftrace) || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if lost, err := running.Stop(); lost != test.lost || err != nil {
				t.Errorf("lost %d, %v", lost, err)
			}
		})
	}
}
