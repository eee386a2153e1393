package recording

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSeveralProcesses records a publishing and a subscribing process: both exactly, and each message that was received
// is found where it was sent.
func TestSeveralProcesses(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		domain := fmt.Sprint(" --domain ", standin.Domain(t))
		listener := startNode(t, l, "--subscribe-only --topics 2"+domain)
		talker := startReadyNode(t, l, "--publish-only --topics 2 --rate 50 --wait-subscribers 1"+domain)
		listener.WaitReady()
		r := record(t, session.Configuration{PIDs: talker.pidText() + "," + listener.pidText()})
		r.waitForRows(trace.TableCallback, 2*enough)
		data := r.stop()
		sent, received := talker.stop(), listener.stop()
		r.requireExact(data, sent, oracle.Circumstances{Found: true})
		r.requireExact(data, received, oracle.Circumstances{Found: true})

		type message struct {
			topic string
			stamp int64
		}
		publishes := map[message]int{}
		for _, row := range data.Publishes {
			publishes[message{row.TopicName, row.SourceTimestamp.Value}]++
		}
		joined := 0
		for _, row := range data.Callbacks {
			if row.Kind == trace.KindSubscription && row.SourceTimestamp.Valid {
				switch publishes[message{row.TopicName, row.SourceTimestamp.Value}] {
				case 0: // sent before the recording
				case 1:
					joined++
				default:
					t.Errorf("several publishes to %s have the source timestamp %d", row.TopicName, row.SourceTimestamp.Value)
				}
			}
		}
		if joined < enough/2 {
			t.Errorf("only %d messages were found at both ends", joined)
		}
	})
}

// TestProcessDies: one of two recorded processes is killed, or crashes. All that it did until then is there, and the
// recording goes on with the other one.
func TestProcessDies(t *testing.T) {
	requireRecording(t)
	for name, signal := range map[string]syscall.Signal{
		"killed": syscall.SIGKILL, "segmentation fault": syscall.SIGSEGV, "abort": syscall.SIGABRT,
	} {
		t.Run(name, func(t *testing.T) {
			if signal != syscall.SIGKILL {
				requireLong(t)
			}
			domain := fmt.Sprint(" --domain ", standin.Domain(t))
			survivor := startReadyNode(t, oneLayout, "--rate 50 --prefix /survivor"+domain)
			victim := startReadyNode(t, oneLayout, "--rate 50 --nodes 2 --threads 2 --prefix /victim --ground-truth-sync 1"+domain)
			// A core dump would be left behind, in whatever place the machine has for them.
			if err := unix.Prlimit(victim.PID(), unix.RLIMIT_CORE, &unix.Rlimit{}, nil); err != nil {
				t.Fatal(err)
			}
			r := record(t, session.Configuration{PIDs: survivor.pidText() + "," + victim.pidText()})
			r.waitForRows(trace.TableCallback, enough)
			died := victim.die(signal)
			r.waitFor("one process left", func(s session.Status) bool { return s.Processes == 1 })
			r.waitForMoreRows(trace.TableCallback, enough)
			data := r.stop()
			r.requireExact(data, died, oracle.Circumstances{Found: true, Killed: true})
			r.requireExact(data, survivor.stop(), oracle.Circumstances{Found: true})
			requireExited(t, data, victim.PID(), true)
			requireExited(t, data, survivor.PID(), false)
			requireEnding(t, data, trace.EndingSignal)
		})
	}
}

// TestAllProcessesDie kills the only recorded process: that ends the recording.
func TestAllProcessesDie(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	n := startReadyNode(t, oneLayout, "--rate 50 --ground-truth-sync 1")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	r.waitForRows(trace.TableCallback, enough)
	died := n.die(syscall.SIGKILL)
	data := r.wait()
	r.requireExact(data, died, oracle.Circumstances{Found: true, Killed: true})
	requireExited(t, data, n.PID(), true)
	requireEnding(t, data, trace.EndingTargetsExited)
}

func requireExited(t *testing.T, data *oracle.Dataset, pid int, want bool) {
	t.Helper()
	last := -1
	for i, row := range data.Processes {
		if int(row.PID) == pid {
			last = i
		}
	}
	if last < 0 {
		t.Errorf("process %d has no row", pid)
	} else if got := data.Processes[last].Exited; got != want {
		t.Errorf("process %d has exited: %t, not %t", pid, got, want)
	}
}

// TestProcessStarts starts processes while a recording by name is open.
func TestProcessStarts(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		prefix := fmt.Sprintf("/starts_%d_%s_%s", syscall.Getpid(), l.distro, l.rmw)
		testProcessStarts(t, l, session.Configuration{Name: prefix}, prefix)
	})
}

// TestAnyProcessStarts does the same while everything is recorded.
func TestAnyProcessStarts(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	testProcessStarts(t, oneLayout, session.Configuration{All: true}, "/starts")
}

// testProcessStarts starts a process that begins its work when the recorder knows it, of which nothing may be missing,
// and then one that begins at once.
func testProcessStarts(t *testing.T, l layout, configuration session.Configuration, prefix string) {
	r := record(t, configuration)
	flags := "--rate 50 --threads 2 --nodes 2 --prefix " + prefix
	held, release := startHeldNode(t, l, flags)
	// A recorder that looked while the libraries were being mapped knows no distribution at first.
	r.waitForMessage(fmt.Sprintf("PID %d ", held.PID()), " probes in "+string(l.distro))
	released := monotonic()
	release()
	r.waitForMoreRows(trace.TableCallback, 2*enough)
	truthOfHeld := held.stop()

	early := startReadyNode(t, l, flags)
	r.waitForMoreRows(trace.TableCallback, 2*enough)
	truthOfEarly := early.stop()
	data := r.stop()
	whole := oracle.Span{OpenFrom: r.began, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, data, truthOfHeld, whole, oracle.Circumstances{})
	requireExited(t, data, held.PID(), true)

	r.requireSaid(t, data, truthOfEarly, false)
	requireExited(t, data, early.PID(), true)
}

// requireExactProcess is requireExact where the recording may have processes of which the test knows nothing, which
// lose things, and where files of the process may have been mapped before they were probed, and nothing done in them.
func requireExactProcess(t *testing.T, data *oracle.Dataset, truth *oracle.Truth, s oracle.Span, known oracle.Circumstances) *oracle.Comparison {
	t.Helper()
	withoutLosses := *data
	withoutLosses.Losses = nil
	return oracle.RequireExact(t, &withoutLosses, truth, s, known)
}

// TestLibraryIsLoaded loads a component into a recorded process.
func TestLibraryIsLoaded(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, "--rate 20 --component default --threads 2")
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableCallback, enough/2)
		n.Signal(syscall.SIGUSR1)
		r.waitForRows(trace.TableCallback, 4*enough)
		data := r.stop()
		truth := n.stop()
		if data.Session.Unarmed > 0 {
			t.Log("the machine is too slow for an exact comparison: the dataset says what is missing")
		} else {
			r.requireExact(data, truth, oracle.Circumstances{Found: true})
		}
		requireComponent(t, data)
	})
}

// requireComponent requires callbacks of a component that was loaded while recording.
func requireComponent(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	fromComponent := 0
	for _, row := range data.Callbacks {
		if row.NodeName == "/component" {
			fromComponent++
		}
	}
	if fromComponent < enough {
		t.Errorf("%d callbacks of the component were recorded", fromComponent)
	}
}

// TestOverlappingRecordings records the same process twice at a time.
func TestOverlappingRecordings(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, behaviours["threads"])
		first := record(t, session.Configuration{PIDs: n.pidText()})
		first.waitForRows(trace.TableCallback, enough)
		second := record(t, session.Configuration{Name: fmt.Sprint("--domain .*", n.GroundTruthFile())})
		second.waitForRows(trace.TableCallback, enough)
		dataOfFirst := first.stop()
		second.waitForRows(trace.TableCallback, 10*enough)
		dataOfSecond := second.stop()
		truth := n.stop()
		first.requireExact(dataOfFirst, truth, oracle.Circumstances{Found: true})
		second.requireExact(dataOfSecond, truth, oracle.Circumstances{Found: true})
	})
}

// TestLaunchedCommandForks records a command from its first event, with the children that it forks and starts.
func TestLaunchedCommandForks(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		for name, flags := range map[string]string{
			"fork":  "--fork",
			"spawn": "--spawn-after 0.1",
		} {
			if name == "spawn" && l != oneLayout {
				continue // a child of its own making is the same in all layouts
			}
			t.Run(name, func(t *testing.T) {
				if name == "spawn" {
					requireLong(t)
				}
				// From these the recorder knows what the command will map.
				t.Setenv("LD_LIBRARY_PATH", standin.Directory(t, l.distro, false))
				t.Setenv("RMW_IMPLEMENTATION", l.rmw)
				command, path := standin.Command(t, standin.Config{
					Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields("--rate 50 --nodes 2 --threads 2 " + flags),
				})
				r := record(t, session.Configuration{Command: append([]string{"env"}, command.Args...)})
				waitForEntities(t, path+".child")
				r.waitForMoreRows(trace.TableCallback, 2*enough)
				terminate(t, path)
				data := r.wait()
				for _, path := range []string{path, path + ".child"} {
					truth := readTruth(t, path)
					requireExited(t, data, truth.Header.PID, true)
					if name == "spawn" && r.said(target.ErrReplaced.Error()) {
						t.Log("the machine is too slow for an exact comparison: the dataset says what may be missing")
						r.requireSaid(t, data, truth, false)
						continue
					}
					result := r.requireExact(data, truth, oracle.Circumstances{})
					if result.Compared[trace.LostCallback] == 0 {
						t.Errorf("%d callbacks of %s were recorded", result.Compared[trace.LostCallback], path)
					}
				}
				requireEnding(t, data, trace.EndingTargetsExited)
			})
		}
	})
}

// TestLaunchedCommandLeavesADaemon launches a shell that leaves a program of another kind behind and becomes a node:
// the recording ends with the node, and lacks nothing that the shell lacked.
func TestLaunchedCommandLeavesADaemon(t *testing.T) {
	requireRecording(t)
	t.Setenv("LD_LIBRARY_PATH", standin.Directory(t, oneLayout.distro, false))
	t.Setenv("RMW_IMPLEMENTATION", oneLayout.rmw)
	command, path := standin.Command(t, standin.Config{
		Distro: oneLayout.distro, RMW: oneLayout.rmw, Arguments: strings.Fields("--rate 50 --duration 1"),
	})
	daemon := filepath.Join(t.TempDir(), "daemon")
	script := fmt.Sprintf("setsid sleep 1000 & echo $! > %s; exec %s", daemon, strings.Join(command.Args, " "))
	r := record(t, session.Configuration{Command: []string{"sh", "-c", script}})
	data := r.wait()
	text, err := os.ReadFile(daemon)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the daemon: %v", err)
	}
	r.requireExact(data, readTruth(t, path), oracle.Circumstances{})
	requireEnding(t, data, trace.EndingTargetsExited)
	if missing := data.Session.MissingEvents(); slices.Contains(missing, "callback_start") {
		t.Errorf("missing: %v", missing)
	}
}

// TestLaunchedCommandSetsItsEnvironment launches a shell whose environment does not lead to ROS 2, as in "source
// setup.bash && exec …". What it becomes is recorded from its first event as soon as its environment does.
func TestLaunchedCommandSetsItsEnvironment(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		command, path := standin.Command(t, standin.Config{Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields("--rate 50 --nodes 2")})
		gate := filepath.Join(t.TempDir(), "gate")
		if err := unix.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("export LD_LIBRARY_PATH=%s RMW_IMPLEMENTATION=%s; exec sh -c 'read go <%s; exec %s'",
			standin.Directory(t, l.distro, false), l.rmw, gate, strings.Join(command.Args, " "))
		r := record(t, session.Configuration{Command: []string{"sh", "-c", script}})
		r.waitForMessage("(sh): ")
		if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
			t.Fatal(err)
		}
		r.waitForRows(trace.TableCallback, 2*enough)
		terminate(t, path)
		data := r.wait()
		truth := readTruth(t, path)
		r.requireExact(data, truth, oracle.Circumstances{})
	})
}

// TestLaunchedCommandIsNoROS2 ends with the command, and says why there is nothing.
func TestLaunchedCommandIsNoROS2(t *testing.T) {
	r := record(t, session.Configuration{Command: []string{"true"}})
	data := r.wait()
	requireEnding(t, data, trace.EndingTargetsExited)
	r.waitForMessage("the command ran no ROS 2 program")
}

// terminate ends the process that writes a ground truth.
func terminate(t *testing.T, path string) {
	t.Helper()
	parsed, err := groundtruth.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parsed.Header.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// waitForEntities waits until a ground truth has a timer, after which its process does something.
func waitForEntities(t *testing.T, path string) {
	t.Helper()
	waitForLines(t, path, "timer", 1)
}

// waitForLines waits until a ground truth has at least so many lines of a kind.
func waitForLines(t *testing.T, path, kind string, count int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if linesOf(t, path, kind) >= count {
			return
		}
	}
	t.Fatalf("%s does not get %d lines %q", path, count, kind)
}

// linesOf counts the lines of a kind in a ground truth, which may not exist yet.
func linesOf(t *testing.T, path, kind string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(content, []byte("\n"+kind+"\t"))
}

// TestProcessForks lets a recorded process fork without an exec. The child goes on with the timers that it has
// inherited, and with nothing else: all that is known of them is in its memory.
func TestProcessForks(t *testing.T) {
	requireRecording(t)
	prefix := fmt.Sprintf("/forks_%d", syscall.Getpid())
	for name, configuration := range map[string]session.Configuration{"by name": {Name: prefix}, "all": {All: true}} {
		t.Run(name, func(t *testing.T) {
			if name == "all" {
				requireLong(t)
			}
			n := startReadyNode(t, oneLayout, "--publish-only --topics 2 --rate 50 --on-signal fork --ground-truth-sync 1 --prefix "+prefix)
			r := record(t, configuration)
			r.waitForRows(trace.TableCallback, enough)
			n.Signal(syscall.SIGUSR1)
			path := n.GroundTruthFile() + ".child"
			r.waitFor("the child", func(s session.Status) bool { return s.Processes >= 2 })
			waitForLines(t, path, "callback", linesOf(t, path, "callback")+enough)
			data := r.stop()
			truthOfParent := n.stop()
			parsed := parseCut(t, path)
			parsed.Nodes, parsed.Publishers, parsed.Timers = truthOfParent.Nodes, truthOfParent.Publishers, truthOfParent.Timers
			truthOfChild := oracle.Resolve(parsed)

			requireExactProcess(t, data, truthOfParent, r.span(data, n.PID()), oracle.Circumstances{Found: true})
			child := truthOfChild.Header.PID
			first, ok := data.FirstRow(child)
			if !ok {
				t.Fatal("nothing of the child was recorded")
			}
			// When it was met is not known to the test. From its first row on nothing may be missing.
			part := oracle.Span{OpenFrom: r.began, OpenTo: first, CloseFrom: r.closing, CloseTo: r.ended}
			result := requireExactProcess(t, data, truthOfChild, part, oracle.Circumstances{Unnamed: true, Killed: true})
			if result.Compared[trace.LostCallback] == 0 {
				t.Error("no callback of the child was recorded")
			}
			if !slices.ContainsFunc(data.Processes, func(row trace.Process) bool { return int(row.PID) == child && row.Distro == oneLayout.distro }) {
				t.Errorf("the child, PID %d, has no row: %+v", child, data.Processes)
			}
		})
	}
}

// TestChildrenOfPIDsAreLeft lets a process that is recorded by its PID fork: the child was not named, and is not
// recorded.
func TestChildrenOfPIDsAreLeft(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--publish-only --topics 2 --rate 50 --on-signal fork --ground-truth-sync 1")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	r.waitForRows(trace.TableCallback, enough)
	n.Signal(syscall.SIGUSR1)
	path := n.GroundTruthFile() + ".child"
	waitForLines(t, path, "callback", linesOf(t, path, "callback")+enough)
	data := r.stop()
	truth := n.stop()
	child := int32(parseCut(t, path).Header.PID)
	if slices.ContainsFunc(data.Callbacks, func(row trace.Callback) bool { return row.PID == child }) ||
		slices.ContainsFunc(data.Processes, func(row trace.Process) bool { return row.PID == child }) {
		t.Errorf("the child, PID %d, is recorded", child)
	}
	requireExactProcess(t, data, truth, r.span(data, n.PID()), oracle.Circumstances{Found: true})
}

// TestProcessExecs lets a process that is recorded by its PID become another program. That is recorded as well, all of
// it.
func TestProcessExecs(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n := startReadyNode(t, l, "--rate 50 --nodes 2 --threads 2 --on-signal exec --ground-truth-sync 1")
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableCallback, enough)
		replacing := monotonic()
		n.Signal(syscall.SIGUSR1)
		// Its row is written when it is attached.
		r.waitFor("the new program", func(s session.Status) bool { return s.Rows[trace.TableProcess] >= 2 })
		waitUntilHeld(t, n.PID())
		released := monotonic()
		n.Signal(syscall.SIGUSR1)
		r.waitForMoreRows(trace.TableCallback, 2*enough)
		data := r.stop()
		n.Stop()
		truthOfFirst := oracle.Resolve(parseCut(t, n.GroundTruthFile()))
		truthOfSecond := readTruth(t, n.GroundTruthFile()+".child")

		before, after := data.Split(released)
		s := r.span(before, n.PID())
		s.CloseFrom, s.CloseTo = replacing, released
		oracle.RequireExact(t, before, truthOfFirst, s, oracle.Circumstances{Found: true, Killed: true, Unarmed: true})
		s = oracle.Span{OpenFrom: released, OpenTo: released, CloseFrom: r.closing, CloseTo: r.ended}
		if from, to, found := unarmed(data, n.PID()); !found || from < replacing || to > released {
			t.Errorf("it is said that the new program was not probed from %d to %d", from, to)
		}
		oracle.RequireExact(t, after, truthOfSecond, s, oracle.Circumstances{Unarmed: true})
		oracle.RequireEntities(t, after, truthOfSecond, s)
		// One process, of which the row tells the last program.
		if rows := data.Processes; len(rows) != 1 || !strings.HasSuffix(rows[0].CommandLine, n.GroundTruthFile()+".child") {
			t.Errorf("processes %+v", rows)
		}
		requireEnding(t, data, trace.EndingSignal)
	})
}

// TestProcessIDIsReused starts a process with the PID of one that has ended, in the same recording: they must not be
// taken for one.
func TestProcessIDIsReused(t *testing.T) {
	requireRecording(t)
	prefix := fmt.Sprintf("/reused_%d", syscall.Getpid())
	flags := "--rate 50 --nodes 2 --prefix " + prefix
	r := record(t, session.Configuration{Name: prefix})
	first, release := startHeldNode(t, oneLayout, flags)
	r.waitFor("the process", func(s session.Status) bool { return s.Processes == 1 })
	release()
	r.waitForRows(trace.TableCallback, enough)
	truthOfFirst := first.stop()
	r.waitFor("its end", func(s session.Status) bool { return s.Processes == 0 })

	second, release := startHeldNodeWithPID(t, first.PID(), flags)
	r.waitFor("the second process", func(s session.Status) bool { return s.Processes == 1 })
	release()
	r.waitForMoreRows(trace.TableCallback, enough)
	truthOfSecond := second.stop()
	data := r.stop()

	starts := map[int64]bool{}
	for _, row := range data.Processes {
		if int(row.PID) == first.PID() {
			starts[row.ProcessStart] = true
		}
	}
	ordered := slices.Sorted(maps.Keys(starts))
	if len(ordered) != 2 {
		t.Fatalf("the processes with PID %d started at %d", first.PID(), ordered)
	}
	for i, truth := range []*oracle.Truth{truthOfFirst, truthOfSecond} {
		own := data.StartedAt(ordered[i])
		oracle.RequireExact(t, own, truth, oracle.Span{OpenFrom: r.began, OpenTo: r.opened, CloseFrom: r.closing, CloseTo: r.ended}, oracle.Circumstances{Unarmed: true})
		publishers, timers := len(own.PublishersOf(t, truth)), len(own.TimersOf(t, truth))
		if publishers != len(truth.Publishers) || timers != len(truth.Timers) {
			t.Errorf("process %d has %d publishers and %d timers, not %d and %d", i, publishers, timers, len(truth.Publishers), len(truth.Timers))
		}
	}
}

// startHeldNodeWithPID starts a held stand-in with a certain PID, which must be free.
func startHeldNodeWithPID(t *testing.T, pid int, flags string) (n *node, release func()) {
	t.Helper()
	for range 50 {
		// The next process of the machine gets the PID after this one; it may not be ours.
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(fmt.Sprint(pid-1)), 0o644); err != nil {
			t.Skipf("choosing a PID: %v", err)
		}
		n, release := startHeldNode(t, oneLayout, flags)
		if n.PID() == pid {
			return n, release
		}
		n.Kill()
	}
	t.Skipf("PID %d is not to be had", pid)
	return nil, nil
}

// TestUnexpectedLibraryIsLoaded lets a process load a DDS library of its own, which the recorder cannot foresee. On
// Humble only probes in it know the source timestamps.
func TestUnexpectedLibraryIsLoaded(t *testing.T) {
	requireRecording(t)
	for _, rmw := range standin.RMWs() {
		t.Run(rmw, func(t *testing.T) {
			if rmw == standin.CycloneDDS {
				requireLong(t)
			}
			l := layout{standin.Humble, rmw}
			library := ddsLibrary(t, l)
			content, err := os.ReadFile(library)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			t.Setenv("LD_LIBRARY_PATH", folder)
			n, release := startHeldNode(t, l, "--rate 50")
			r := record(t, session.Configuration{PIDs: n.pidText()})
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(library)), content, 0o755); err != nil {
				t.Fatal(err)
			}
			release()
			r.waitForMessage("in humble with " + rmw)
			r.waitForRows(trace.TableCallback, 4*enough)
			data := r.stop()
			_, attached, found := unarmed(data, n.PID())
			if !found {
				t.Error("it is not said that the library was not probed when it was mapped")
			}
			s := r.span(data, n.PID())
			s.OpenTo = max(s.OpenTo, attached)
			oracle.RequireExact(t, data, n.stop(), s, oracle.Circumstances{Unarmed: true})
			stamps := 0
			for _, row := range data.Publishes {
				if row.SourceTimestamp.Valid {
					stamps++
				}
			}
			if stamps < enough/2 {
				t.Errorf("%d publishes have a source timestamp", stamps)
			}
		})
	}
}

// ddsLibrary returns the path of the DDS library that a stand-in loads, which is named as the stand-in names it.
func ddsLibrary(t *testing.T, l layout) string {
	t.Helper()
	out, err := exec.Command("ldd", filepath.Join(standin.Directory(t, l.distro, false), "lib"+l.rmw+".so")).Output()
	if err != nil {
		t.Skipf("ldd: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " => ")
		path, _, _ := strings.Cut(rest, " ")
		if strings.HasPrefix(name, "libfastrtps.so") || strings.HasPrefix(name, "libfastdds.so") || strings.HasPrefix(name, "libddsc.so") {
			return filepath.Join(filepath.Dir(path), name)
		}
	}
	t.Fatalf("lib%s.so needs no DDS library: %s", l.rmw, out)
	return ""
}
