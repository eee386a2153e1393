// Command trials writes which tests of a page were run, how often each has tried what it tests, how often that failed,
// and how long it took, from what `go test -json` has printed: of long forms (CARET_BPF_SOAK), and of ordinary ones.
//
// usage: trials [-of COMMIT] [-on MACHINE] PAGE LONG [ORDINARY...]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/docs"
)

// block is the part of the page that this program writes.
const block = "trials"

func main() {
	commit := flag.String("of", "", "the `COMMIT` that was tested (default: the one that is checked out)")
	machine := flag.String("on", fmt.Sprintf("%d processors, %s", runtime.NumCPU(), runtime.GOARCH), "what kind of `MACHINE` the tests ran on")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: trials [-of COMMIT] [-on MACHINE] PAGE LONG [ORDINARY...]")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), flag.Args()[1:], *commit, *machine); err != nil {
		fmt.Fprintln(os.Stderr, "trials:", err)
		os.Exit(1)
	}
}

func write(page string, files []string, commit, machine string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	ran := results{tests: map[string]*result{}}
	for i, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		read, err := parse(file, i == 0)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		ran.merge(read)
	}
	if commit == "" {
		described, err := exec.Command("git", "describe", "--always", "--dirty").Output()
		if err != nil {
			return fmt.Errorf("git describe: %w", err)
		}
		commit = strings.TrimSpace(string(described))
	}
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		return err
	}
	var content bytes.Buffer
	first, last := ran.began.UTC().Format(time.DateOnly), ran.ended.UTC().Format(time.DateOnly)
	if last != first {
		first += " to " + last
	}
	fmt.Fprintf(&content, "%s\n\n", docs.Wrap(fmt.Sprintf("Run on %s, commit %s, Linux %s, %s.",
		first, commit, unix.ByteSliceToString(system.Release[:]), machine), ""))
	content.WriteString(table(named(string(text)), ran.tests))
	return docs.Write(page, block, content.Bytes())
}
