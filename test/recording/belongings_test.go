package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// belonging is something that a recorder has: in the kernel, by its number, or a process.
type belonging struct {
	kind   string
	number int
	start  string // of a process: its PID may be another one's later
}

// The kinds of belongings; those in the kernel have the names of /proc/PID/fdinfo.
const (
	ofProgram = "prog_id"
	ofMap     = "map_id"
	ofLink    = "link_id"
	ofProcess = "process"
)

// belongings are BPF programs, maps and links that a recorder has right now, and the processes that it has started.
func (r *recorder) belongings() map[belonging]bool {
	r.t.Helper()
	all := map[belonging]bool{}
	numbered := regexp.MustCompile(`(?m)^(prog_id|map_id|link_id):\t(\d+)$`)
	for pending := []int{r.command.Process.Pid}; len(pending) > 0; pending = pending[1:] {
		pid := pending[0]
		if pid != r.command.Process.Pid {
			all[belonging{ofProcess, pid, startOf(pid)}] = true
		}
		for _, file := range filesOf(r.t, fmt.Sprintf("/proc/%d/fdinfo/*", pid)) {
			for _, match := range numbered.FindAllStringSubmatch(file, -1) {
				all[belonging{kind: match[1], number: number(r.t, match[2])}] = true
			}
		}
		for _, children := range filesOf(r.t, fmt.Sprintf("/proc/%d/task/*/children", pid)) {
			for _, child := range strings.Fields(children) {
				pending = append(pending, number(r.t, child))
			}
		}
	}
	return all
}

// filesOf returns what is in files of a pattern, of which some may go meanwhile.
func filesOf(t *testing.T, pattern string) (contents []string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if content, err := os.ReadFile(path); err == nil {
			contents = append(contents, string(content))
		}
	}
	return contents
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// startOf returns when a process has begun, "" if it is over.
func startOf(pid int) string {
	const state, started = 0, 19 // fields 3 and 22 (proc(5)), counted from behind the name
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if fields[state] == "Z" { // its parent has not asked for it yet
		return ""
	}
	return fields[started]
}

// waitUntilGone waits until nothing is there any more of what recorders had: the kernel frees it some time after they
// have ended.
func waitUntilGone(t *testing.T, belongings map[belonging]bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		maps.DeleteFunc(belongings, func(b belonging, _ bool) bool { return !b.exists() })
		if len(belongings) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("this is left of the recorders: %v", slices.Collect(maps.Keys(belongings)))
		}
	}
}

func (b belonging) exists() bool {
	var found io.Closer
	var err error
	switch b.kind {
	case ofProgram:
		found, err = ebpf.NewProgramFromID(ebpf.ProgramID(b.number))
	case ofMap:
		found, err = ebpf.NewMapFromID(ebpf.MapID(b.number))
	case ofLink:
		found, err = link.NewFromID(link.ID(b.number))
	default:
		return b.start != "" && startOf(b.number) == b.start
	}
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_ = found.Close()
	return true
}
