package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestTriggerKinds brings about what triggers wait for, of kinds that TestTriggers and TestPathTrigger do not have.
// Each comes once, with its reason, its row and the time around it. One beside it, whose bound is not reached, does not
// come.
func TestTriggerKinds(t *testing.T) {
	requireRecording(t)
	const before = 2 * time.Second
	for name, test := range map[string]struct {
		flags             string // of the stand-in that is recorded
		buffer            int
		definition, never string
		named             bool // it is recorded by name
		provoke           func(t *testing.T, n *node, r *recording, prefix string)
		reason            string // has this
		table             string // of the row; "": there is none
	}{
		"message": {
			// A message waits until the callback that has published it has slept.
			flags: "--rate 20 --sleep 30", definition: "message over=20ms topic=/n0/t0$", never: "message over=1h",
			reason: "old when its callback began", table: trace.TableCallback,
		},
		"slow": {
			flags: "--rate 10", definition: "slow rate=50 topic=/n0/t0$", never: "slow rate=50 topic=^/none$",
			reason: "messages a second were published on /",
		},
		"timer": {
			flags: "--rate 100", definition: "timer periods=50", never: "timer periods=1000000", provoke: pauseProcess,
			reason: "with a period of 10ms came after ", table: trace.TableCallback,
		},
		"loss": {
			flags: "--nodes 2 --topics 2 --threads 3 --rate 1000", buffer: 4096, definition: "loss", never: "callback over=1h",
			reason: " were lost: ", table: trace.TableLoss,
		},
		"restart": {
			flags: "--rate 100", definition: "restart process=_again", never: "restart process=_none", named: true, provoke: runTwice,
			reason: "ros_node runs again, as PID ", table: trace.TableProcess,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "message" {
				requireLong(t)
			}
			prefix := uniqueName("kinds_" + name)
			n := startReadyNode(t, oneLayout, test.flags+" --prefix "+prefix)
			configuration := session.Configuration{PIDs: n.pidText(), BufferBytes: test.buffer, Triggers: []string{
				fmt.Sprintf("%s name=comes before=%v after=300ms cooldown=1h", test.definition, before),
				test.never + " name=never",
			}}
			if test.named {
				configuration.PIDs, configuration.Name = "", prefix
			}
			r := record(t, configuration)
			if test.provoke != nil {
				r.waitForMoreRows(trace.TableCallback, enough)
				test.provoke(t, n, r, prefix)
			}
			r.waitForMessage("trigger comes: ", test.reason, "snapshot in")
			data := r.stop()
			truth := n.stop()
			for _, count := range data.Session.Triggers {
				if count.Name == "comes" && count.Fired != 1 || count.Name == "never" && count.Fired+count.Suppressed != 0 {
					t.Errorf("%+v", count)
				}
			}
			found := snapshotsIn(t, filepath.Dir(r.dir), "comes")
			if len(found) != 1 {
				t.Fatalf("%d snapshots", len(found))
			}
			if name == "loss" {
				r.requireExact(data, truth, oracle.Circumstances{Found: true, Unnamed: true})
				requireCut(t, found[0], data)
			} else {
				requireSnapshot(t, found[0], truth)
			}
			of := oracle.ReadDataset(t, found[0]).Session.Snapshot
			if of.Trigger == nil || of.Trigger.Timestamp-of.First != before.Nanoseconds() || !strings.Contains(of.Trigger.Reason, test.reason) {
				t.Fatalf("%+v", of)
			}
			if of.Trigger.Table != test.table || (len(of.Trigger.Row) > 0) != (test.table != "") {
				t.Errorf("the row is of table %q, not %q: %s", of.Trigger.Table, test.table, of.Trigger.Row)
			}
		})
	}
}

// pauseProcess keeps a process from running for longer than any timer waits.
func pauseProcess(_ *testing.T, n *node, _ *recording, _ string) {
	n.Signal(syscall.SIGSTOP)
	time.Sleep(1500 * time.Millisecond)
	n.Signal(syscall.SIGCONT)
}

// runTwice runs another process, and once more with the same command line.
func runTwice(t *testing.T, _ *node, r *recording, prefix string) {
	config := standin.Config{
		Distro: oneLayout.distro, RMW: oneLayout.rmw, Domain: standin.Domain(t), NoGroundTruth: true,
		Arguments: strings.Fields("--rate 20 --prefix " + prefix + "_again"),
	}
	for range 2 {
		process := standin.StartReady(t, config)
		r.waitFor("the process", func(s session.Status) bool { return s.Processes == 2 })
		process.Kill()
		r.waitFor("its end", func(s session.Status) bool { return s.Processes == 1 })
	}
}

// requireCut requires that a snapshot has what its recording has of the time span, and nothing else: the callbacks that
// lie in it and perhaps those that reach into it, and the losses of some of it.
func requireCut(t *testing.T, dir string, whole *oracle.Dataset) {
	t.Helper()
	part := oracle.ReadDataset(t, dir)
	of := part.Session.Snapshot
	recorded := map[trace.Callback]bool{}
	for _, row := range whole.Callbacks {
		recorded[row] = true
	}
	copied := map[trace.Callback]bool{}
	for _, row := range part.Callbacks {
		copied[row] = true
		if !recorded[row] || row.CallbackEndTimestamp.Valid && row.CallbackEndTimestamp.Value < of.First {
			t.Errorf("a callback is not of the recording, or lies outside: %+v", row)
		}
	}
	lacking := 0
	for row := range recorded {
		start, end := row.CallbackStartTimestamp, row.CallbackEndTimestamp
		if start.Valid && end.Valid && start.Value >= of.First && end.Value <= of.Last && !copied[row] {
			lacking++
		}
	}
	if lacking > 0 || len(copied) == 0 || len(copied) != len(part.Callbacks) {
		t.Errorf("%d callbacks, %d of them different; %d are lacking", len(part.Callbacks), len(copied), lacking)
	}
	for _, loss := range part.Losses {
		if !slices.Contains(whole.Losses, loss) || loss.ToTimestamp < of.First || loss.FromTimestamp > of.Last {
			t.Errorf("a loss is not of the recording, or lies outside: %+v", loss)
		}
	}
	if len(part.Losses) == 0 {
		t.Error("there are no losses")
	}
}

// TestTriggerRunsAProgram: the program of a trigger is told what has come, has the rights of the user who records, or
// of nobody, and is run in its turn. What it does is not the recording's.
func TestTriggerRunsAProgram(t *testing.T) {
	requireRecording(t)
	const stranger, nobody = 12345, 65534
	for name, test := range map[string]struct {
		caller *identity.Identity
		user   int
		output string // in the folder in which the recorder is
	}{
		"root":         {nil, nobody, "recording"},
		"another user": {&identity.Identity{User: stranger, Group: stranger}, stranger, "./recording"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := newPublicFolder(t)
			said := filepath.Join(folder, "said")
			program := filepath.Join(folder, "program")
			script := "#!/bin/sh\nmade=; [ -d \"$CARET_BPF_SNAPSHOT\" ] && made=made\n" +
				"echo \"$(id -u)|$CARET_BPF_TRIGGER|$CARET_BPF_REASON|$CARET_BPF_SNAPSHOT|$made\" >>" + said + "\n"
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			n := startReadyNode(t, oneLayout, "--rate 100")
			trusted := owners(t)
			t.Chdir(folder)
			r := record(t, session.Configuration{PIDs: n.pidText(), Output: test.output, Triggers: []string{
				"manual name=last after=0s do=snapshot,run:" + program,
				"manual name=first after=0s do=run:" + program + ",snapshot",
				"manual name=failing after=0s do=run:/bin/false,snapshot",
			}}, func(o *session.Options) { o.Caller, o.Trusted = test.caller, trusted })
			r.waitForRows(trace.TableCallback, enough)
			snapshots := map[string]string{}
			for _, trigger := range []string{"last", "first", "failing"} {
				if err := r.handle.Fire(trigger, "it was | asked for"); err != nil {
					t.Fatal(err)
				}
				r.waitForMessage("trigger " + trigger + ": it was | asked for; snapshot in ")
				found := snapshotsIn(t, folder, trigger)
				if len(found) != 1 {
					t.Fatalf("%d snapshots of %s", len(found), trigger)
				}
				snapshots[trigger] = found[0]
			}
			if !r.said("trigger failing: /bin/false", "the program has failed") {
				t.Error("it is not said that a program has failed")
			}
			data, truth := r.stop(), n.stop()
			r.requireExact(data, truth, oracle.Circumstances{Found: true})
			for _, path := range snapshots {
				requireSnapshot(t, path, truth)
			}
			got, err := os.ReadFile(said)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%[1]d|last|it was | asked for|%[2]s|made\n%[1]d|first|it was | asked for||\n", test.user, snapshots["last"])
			if string(got) != want {
				t.Errorf("the programs were told\n%s, not\n%s", got, want)
			}
		})
	}
}

// TestTriggersProgramReadsTheSnapshot: with --mode 0644 the program of root's recorder, which is nobody's, can read
// what was made, wherever the recorder is; without, it cannot.
func TestTriggersProgramReadsTheSnapshot(t *testing.T) {
	requireRecording(t)
	for mode, want := range map[string]string{"0644": "PAR1", "": ""} {
		t.Run("mode "+mode, func(t *testing.T) {
			folder := newPublicFolder(t)
			program, said := filepath.Join(folder, "program"), filepath.Join(folder, "said")
			script := "#!/bin/sh\ncat \"$CARET_BPF_SNAPSHOT\"/callback/*.parquet | head -c 4 >" + said + ".new\nmv " + said + ".new " + said + "\n"
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			n := startReadyNode(t, oneLayout, "--rate 100")
			trusted := owners(t)
			t.Chdir(folder)
			r := record(t, session.Configuration{
				PIDs: n.pidText(), RingAge: time.Minute, Output: "incidents", Mode: mode, Triggers: []string{"manual after=0s do=snapshot,run:" + program},
			}, func(o *session.Options) { o.Trusted = trusted })
			r.waitForRows(trace.TableCallback, enough)
			if err := r.handle.Fire("manual", "a test"); err != nil {
				t.Fatal(err)
			}
			r.waitForMessage("trigger manual: a test; snapshot in " + folder)
			r.cancel()
			if err := <-r.done; err != nil {
				t.Error(err)
			}
			n.stop()
			if got, err := os.ReadFile(said); err != nil || (string(got) == "PAR1") != (want != "") {
				t.Errorf("the program has read %q, %v", got, err)
			}
		})
	}
}

// newPublicFolder makes a folder in which everybody may do everything.
func newPublicFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}
