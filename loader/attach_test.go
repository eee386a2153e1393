package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

func TestHitsAreCountedExactlyWhileAttached(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		before := target.text(library)
		r := newRecording(t, w)

		attachment := r.attach(target.pid, target.callbackSites(library)...)
		if bytes.Equal(target.text(library), before) {
			t.Error("the text shows no breakpoint")
		}
		target.callbacks(300, 3)
		r.expectHits(target.pid, 900)

		closeAttachment(t, attachment)
		if !bytes.Equal(target.text(library), before) {
			t.Error("the text is not what it was before attaching")
		}
		target.callbacks(300, 3)
		r.expectHits(target.pid, 900)

		r.attach(target.pid, target.callbackSites(library)...)
		target.callbacks(10, 1)
		r.expectHits(target.pid, 910)
	})
}

func TestCookieReachesTheProgram(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		r := newRecording(t, w)
		// Initialization events share one program, which knows them by their cookies.
		r.attach(target.pid,
			target.site(library, "ros_trace_callback_start", abi.EventRclTimerInit),
			target.site(library, "ros_trace_callback_end", abi.EventRclcppTimerLinkNode))
		target.callbacks(5, 1)
		r.drain()
		counts := map[abi.Event]int{}
		for _, record := range r.records {
			if abi.Kind(record[0]) == abi.KindInit {
				counts[abi.Event(record[1])]++
			}
		}
		if counts[abi.EventRclTimerInit] != 5 || counts[abi.EventRclcppTimerLinkNode] != 5 || len(counts) != 2 {
			t.Errorf("init records by event: %v, want 5 each", counts)
		}
	})
}

func TestOtherProcessesAreNotRecorded(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		recorded, other := startTargetWith(t, library), startTargetWith(t, library)
		r := newRecording(t, w)
		r.attach(recorded.pid, recorded.callbackSites(library)...)
		other.callbacks(100, 2)
		recorded.callbacks(100, 2)
		r.expectHits(recorded.pid, 200)
		r.expectHits(other.pid, 0)

		attachment := r.attach(other.pid, other.callbackSites(library)...)
		other.callbacks(100, 2)
		recorded.callbacks(100, 2)
		r.expectHits(recorded.pid, 400)
		r.expectHits(other.pid, 200)

		closeAttachment(t, attachment)
		other.callbacks(100, 2)
		recorded.callbacks(100, 2)
		r.expectHits(recorded.pid, 600)
		r.expectHits(other.pid, 200)
	})
}

func TestEveryProcessSharesItsSites(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		first, second := startTargetWith(t, library), startTargetWith(t, library)
		w.options.FilterProcesses = true
		r := newRecording(t, w)
		if err := r.loader.AddProcess(first.pid); err != nil {
			t.Fatal(err)
		}
		one := r.attach(0, first.callbackSites(library)...)
		two := r.attach(0, second.callbackSites(library)...)
		first.callbacks(50, 2)
		second.callbacks(50, 2)
		r.expectHits(first.pid, 100)
		r.expectHits(second.pid, 0)

		closeAttachment(t, one)
		if err := r.loader.AddProcess(second.pid); err != nil {
			t.Fatal(err)
		}
		first.callbacks(50, 2)
		second.callbacks(50, 2)
		r.expectHits(first.pid, 200)
		r.expectHits(second.pid, 100)

		changed := first.callbackSites(library)[:1]
		changed[0].Form = 1
		_, problems, err := r.loader.Attach(t.Context(), 0, changed)
		if err != nil || len(problems) != 1 {
			t.Fatalf("problems %v, error %v, want one problem", problems, err)
		}
		expectError(t, problems[0], ErrConflictingSite)

		closeAttachment(t, two)
		second.callbacks(50, 2)
		r.expectHits(second.pid, 100)

		r.attach(0, first.callbackSites(library)...)
		if err := r.loader.RemoveProcess(first.pid, 0); err != nil {
			t.Fatal(err)
		}
		first.callbacks(50, 2)
		second.callbacks(50, 2)
		r.expectHits(first.pid, 200)
		r.expectHits(second.pid, 200)
	})
}

func TestBadSitesAreSortedOut(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		before := target.text(library)
		unsafe := target.site(library, "unsafe", abi.EventCallbackStart)
		privileged := target.site(library, "privileged", abi.EventCallbackStart)
		beyondText := target.site(library, "ros_trace_rmw_take", abi.EventCallbackStart)
		beyondText.Offset, beyondText.Address = 1<<20, 0
		otherFile := target.site(library, "ros_trace_rmw_take", abi.EventCallbackStart)
		otherFile.BuildID = "00112233"
		bad := []probes.Site{unsafe, privileged, beyondText, otherFile}

		t.Run("optional", func(t *testing.T) {
			r := newRecording(t, w)
			_, problems, err := r.loader.Attach(t.Context(), target.pid, append(target.callbackSites(library), bad...))
			if err != nil || len(problems) != len(bad) {
				t.Fatalf("problems %v, error %v; want %d problems", problems, err, len(bad))
			}
			causes := map[string]error{}
			for _, problem := range problems {
				causes[problem.Site.Symbol] = errors.Join(causes[problem.Site.Symbol], problem)
			}
			expectError(t, causes["unsafe"], ErrUnsafeSite)
			expectError(t, causes["ros_trace_rmw_take"], ErrUnsafeSite)
			expectError(t, causes["ros_trace_rmw_take"], ErrFileChanged)
			if causes["privileged"] == nil {
				t.Error("nothing is said of the privileged instruction")
			}
			target.callbacks(20, 2)
			r.expectHits(target.pid, 40)
		})
		for _, site := range bad[:2] {
			site.Required = true
			t.Run("required "+site.Symbol, func(t *testing.T) {
				r := newRecording(t, w)
				_, _, err := r.loader.Attach(t.Context(), target.pid, append(target.callbackSites(library), site))
				expectError(t, err, ErrRequiredSite)
				if !bytes.Equal(target.text(library), before) {
					t.Error("something stayed attached")
				}
				target.callbacks(20, 2)
				r.expectHits(target.pid, 0)
			})
		}
	})
}

func TestLoadersSideBySide(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		first, second := newRecording(t, w), newRecording(t, w)
		attachment := first.attach(target.pid, target.callbackSites(library)...)
		second.attach(target.pid, target.callbackSites(library)...)
		target.callbacks(50, 2)
		first.expectHits(target.pid, 100)
		second.expectHits(target.pid, 100)
		closeAttachment(t, attachment)
		target.callbacks(50, 2)
		first.expectHits(target.pid, 100)
		second.expectHits(target.pid, 200)
	})
}

func TestLibraryLoadedAfterAttaching(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTarget(t)
		var sites []probes.Site
		for function, event := range map[string]abi.Event{
			"ros_trace_callback_start": abi.EventCallbackStart,
			"ros_trace_callback_end":   abi.EventCallbackEnd,
		} {
			site := fileSite(t, fmt.Sprintf("/proc/%d/root%s", target.pid, library), function, event)
			site.File.Inode, site.Armed = 1, true
			sites = append(sites, site)
		}
		r := newRecording(t, w)
		r.attach(target.pid, sites...)
		target.do("load " + library)
		target.callbacks(50, 2)
		r.expectHits(target.pid, 100)
	})
}

func TestFileWhosePathIsOfNoUse(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "lib with: spaces.so")
		target := startTargetWith(t, library)
		if err := os.Remove(library); err != nil {
			t.Fatal(err)
		}
		r := newRecording(t, w)
		r.attach(target.pid, target.callbackSites(library)...)
		target.callbacks(50, 2)
		r.expectHits(target.pid, 100)
	})
}

func TestSitesOfSeveralFiles(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		first, second := buildLibrary(t, "libfirst.so"), buildLibrary(t, "libsecond.so")
		target := startTargetWith(t, first)
		target.do("load " + second)
		r := newRecording(t, w)
		r.attach(target.pid, append(target.callbackSites(first), target.callbackSites(second)...)...)
		target.callbacks(20, 1)
		target.do("load " + first)
		target.callbacks(30, 1)
		r.expectHits(target.pid, 50)
	})
}

func TestTargetIsKilledWhileAttached(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		r := newRecording(t, w)
		attachment := r.attach(target.pid, target.callbackSites(library)...)
		target.callbacks(10, 1)
		sites := target.callbackSites(library)
		target.kill()
		r.expectHits(target.pid, 10)
		closeAttachment(t, attachment)

		_, _, err := r.loader.Attach(t.Context(), target.pid, sites)
		expectError(t, err, ErrProcessGone)
	})
}

func TestSiteThatTheProcessDoesNotShow(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		with, without := startTargetWith(t, library), startTarget(t)
		r := newRecording(t, w)
		_, problems, err := r.loader.Attach(t.Context(), without.pid, with.callbackSites(library)[:1])
		if err != nil || len(problems) != 1 || !problems[0].Attached() {
			t.Fatalf("problems %v, error %v; want one warning", problems, err)
		}
		expectError(t, problems[0], ErrUnverified)
	})
}

func TestAttachingAndDetachingAgainAndAgain(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		before := target.text(library)
		r := newRecording(t, w)
		sites := target.callbackSites(library)
		rounds := 50
		if testing.Short() {
			rounds = 10
		}
		for i := range rounds {
			attachment := r.attach(target.pid, sites...)
			target.callbacks(4, 2)
			closeAttachment(t, attachment)
			target.callbacks(4, 2)
			if !bytes.Equal(target.text(library), before) {
				t.Fatalf("the text changed in round %d", i)
			}
		}
		r.expectHits(target.pid, rounds*8)
		if losses, err := r.loader.Losses(); err != nil || len(losses) > 0 {
			t.Errorf("losses %v, error %v", losses, err)
		}
	})
}

func TestNothingIsRecordedWhileTheGateIsClosed(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		library := buildLibrary(t, "libtracepoints.so")
		target := startTargetWith(t, library)
		r := newRecording(t, w)
		before, after, err := r.loader.CloseGate()
		if err != nil || before <= 0 || after < before {
			t.Errorf("closed between %d and %d, error %v", before, after, err)
		}
		r.attach(target.pid, target.callbackSites(library)...)
		target.callbacks(10, 1)
		r.expectHits(target.pid, 0)
		_, after, err = r.loader.OpenGate()
		if err != nil {
			t.Fatal(err)
		}
		target.callbacks(10, 1)
		r.expectHits(target.pid, 10)
		for _, record := range r.records {
			if abi.Kind(record[0]) == abi.KindRaw && int64(binary.NativeEndian.Uint64(record[16:])) < before {
				t.Errorf("a record from before %d (gate open at %d)", before, after)
			}
		}
	})
}

func TestAttachRefusesNonsense(t *testing.T) {
	requireRoot(t)
	r := newRecording(t, ways()[1])
	if _, _, err := r.loader.Attach(t.Context(), -1, nil); err == nil {
		t.Error("attached to PID -1")
	}
	site := probes.Site{Path: "missing.so", Required: true}
	_, problems, err := r.loader.Attach(t.Context(), int32(os.Getpid()), []probes.Site{site})
	expectError(t, err, ErrRequiredSite)
	expectError(t, err, errNoFile)
	if len(problems) != 1 {
		t.Errorf("problems %v, want one", problems)
	}
	if err := r.loader.Detach(); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.loader.Attach(t.Context(), int32(os.Getpid()), nil)
	expectError(t, err, ErrClosed)
	if err := r.loader.Close(); err != nil {
		t.Fatal(err)
	}
	expectError(t, <-r.ended, ErrClosed)
}
