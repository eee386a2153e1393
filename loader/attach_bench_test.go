package loader

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/test/measure"
)

const (
	manyLibraries = 400
	manySites     = 3000
	// manyPrograms is the number of events that a library calls: each is a link of its own.
	manyPrograms = 4
)

// BenchmarkAttachLibraries measures attaching to and detaching from a process of 400 libraries with 3000 sites, and how
// long that keeps a busy loop of the process from running: the 99.9th percentile and the longest turn while nothing,
// attaching and detaching happens.
func BenchmarkAttachLibraries(b *testing.B) {
	libraries := copyMany(b, manyLibraries)
	benchmarkEachWay(b, fmt.Sprintf("libraries=%d/sites=%d", manyLibraries, manySites), func(b *testing.B, w way) {
		target := startStallable(b, libraries)
		sites := librarySites(b, libraries)
		l := w.load(b, Options{})
		var attach, detach []float64
		var idle, attaching, detaching []stall
		for b.Loop() {
			target.reset()
			time.Sleep(time.Second)
			idle = append(idle, target.report())
			target.reset()
			start := time.Now()
			attachment, problems, err := l.Attach(b.Context(), int32(target.command.Process.Pid), sites)
			attach = append(attach, float64(time.Since(start).Milliseconds()))
			if err != nil || len(problems) > 0 {
				b.Fatal(err, problems)
			}
			attaching = append(attaching, target.report())
			target.reset()
			start = time.Now()
			closeAttachment(b, attachment)
			detach = append(detach, float64(time.Since(start).Milliseconds()))
			detaching = append(detaching, target.report())
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(measure.Median(attach), "attach-ms")
		b.ReportMetric(measure.Median(detach), "detach-ms")
		for name, stalls := range map[string][]stall{"idle": idle, "attaching": attaching, "detaching": detaching} {
			var usual, longest []float64
			for _, s := range stalls {
				usual, longest = append(usual, s.usual.Seconds()*1e3), append(longest, s.longest.Seconds()*1e3)
			}
			b.ReportMetric(measure.Median(usual), name+"-p99.9-ms")
			b.ReportMetric(measure.Median(longest), name+"-max-ms")
		}
	})
}

// copyMany makes that many libraries of testdata/many.c.
func copyMany(b *testing.B, count int) []string {
	content, err := os.ReadFile(buildMany(b))
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	var libraries []string
	for i := range count {
		path := filepath.Join(folder, fmt.Sprintf("libmany_%03d.so", i))
		if err := os.WriteFile(path, content, 0o755); err != nil {
			b.Fatal(err)
		}
		libraries = append(libraries, path)
	}
	return libraries
}

// librarySites are sites at the first functions of all libraries, spread over some programs.
func librarySites(b *testing.B, libraries []string) []probes.Site {
	b.Helper()
	first, second := fileSite(b, libraries[0], "function_000", 0), fileSite(b, libraries[0], "function_001", 0)
	perLibrary := (manySites + len(libraries) - 1) / len(libraries)
	var sites []probes.Site
	for _, library := range libraries {
		info, err := os.Stat(library)
		if err != nil {
			b.Fatal(err)
		}
		for i := range perLibrary {
			site := first
			site.Path, site.Library, site.File.Inode = library, filepath.Base(library), info.Sys().(*syscall.Stat_t).Ino
			site.Event = abi.EventCallbackStart + abi.Event(i%manyPrograms)
			// The functions are equally long.
			site.Offset += uint64(i) * (second.Offset - first.Offset)
			site.Address += uint64(i) * (second.Address - first.Address)
			sites = append(sites, site)
		}
	}
	return sites[:manySites]
}

// stallable is a running testdata/stall.c.
type stallable struct {
	b       *testing.B
	command *exec.Cmd
	stdin   io.Writer
	stdout  *bufio.Reader
}

// stall is how long the loop was kept from running.
type stall struct{ usual, longest time.Duration }

func startStallable(b *testing.B, libraries []string) *stallable {
	b.Helper()
	program := filepath.Join(b.TempDir(), "stall")
	if err := compile("-pthread", "-o", program, "testdata/stall.c", "-ldl"); err != nil {
		b.Fatal(err)
	}
	s := &stallable{b: b, command: exec.Command(program, libraries...)}
	s.command.Stderr = os.Stderr
	stdin, err := s.command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	s.stdin, s.stdout = stdin, bufio.NewReader(stdout)
	if err := s.command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
	})
	s.answer()
	return s
}

func (s *stallable) answer() string {
	s.b.Helper()
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		s.b.Fatal(err)
	}
	return line
}

func (s *stallable) reset() {
	s.b.Helper()
	fmt.Fprintln(s.stdin, "reset")
	s.answer()
}

func (s *stallable) report() stall {
	s.b.Helper()
	fmt.Fprintln(s.stdin, "report")
	var turns, usual, longest int64
	if _, err := fmt.Sscan(s.answer(), &turns, &usual, &longest); err != nil {
		s.b.Fatal(err)
	}
	return stall{usual: time.Duration(usual), longest: time.Duration(longest)}
}
