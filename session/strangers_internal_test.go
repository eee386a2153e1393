package session

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/writer"
)

// A user's strangers keep the reader waiting for so long and no longer, whoever else has spent his time.
func TestStrangersTime(t *testing.T) {
	var a allowance
	now := time.Unix(1000, 0)
	for i, step := range []struct {
		after time.Duration
		user  uint32
		spend time.Duration
		want  bool
	}{
		{0, 1, strangersTime / 2, true},
		{0, 1, strangersTime / 2, true},
		{0, 1, 0, false},
		{0, 2, strangersTime * 5, true},
		{0, 2, 0, false},
		{allowancePeriod / 2, 1, 0, false},
		{allowancePeriod / 2, 1, strangersTime, true},
		{0, 1, 0, false},
		{0, 2, 0, false},
		{3 * allowancePeriod, 2, 0, false}, // it has taken what five periods have
		{0, 1, 0, true},
		{allowancePeriod, 2, 0, true},
	} {
		now = now.Add(step.after)
		if got := a.has(step.user, strangersTime, now); got != step.want {
			t.Fatalf("step %d: has time: %v", i, got)
		}
		if step.want {
			a.spend(step.user, step.spend)
		}
	}
}

// strangersOf are those of a recording that writes to w.
func strangersOf(configuration *compiled, w *writer.Writer) *strangers {
	j := newJournal(Observer{})
	return &strangers{
		configuration: configuration, finder: target.NewFinder(), processes: newProcesses(datasetClock{}, rowsOf(w), j),
		memories: &memories{journal: j}, looks: newLooks(), starts: new(recentStarts), journal: j,
	}
}

func startSleeping(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("sleep", "600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

// TestStrangersAreMet: a process of which a record comes is looked at at once, or later when its user's processes have
// taken long. What its records have led to until then stays.
func TestStrangersAreMet(t *testing.T) {
	for name, test := range map[string]struct {
		spent     time.Duration
		meanwhile func(*testing.T, *exec.Cmd, *process)
		met       bool
	}{
		"at once": {0, nil, true},
		"later":   {strangersTime, nil, true},
		"too late": {strangersTime, func(t *testing.T, command *exec.Cmd, _ *process) {
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
		}, false},
		"when another process has its PID": {strangersTime, func(_ *testing.T, _ *exec.Cmd, unmet *process) { unmet.row.ProcessStart-- }, false},
	} {
		t.Run(name, func(t *testing.T) {
			command := startSleeping(t)
			w, err := writer.Create(t.TempDir(), writer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Discard() }()
			pid := int32(command.Process.Pid)
			s := strangersOf(new(compiled), w)
			s.processes.open = true
			payer, err := s.finder.Payer(pid)
			if err != nil {
				t.Fatal(err)
			}
			s.time.has(payer, strangersTime, time.Now())
			s.time.spend(payer, test.spent)

			merged := s.identify(pid)
			a := &admission{
				configuration: s.configuration, finder: s.finder, merger: merge.New(merge.Options{}), processes: s.processes, memories: s.memories,
				journal: s.journal,
			}
			a.merger.AddIfAbsent(pid, func() *merge.Process { return merged })
			entry := s.processes.find(pid)
			if s.looks.count() != 1 || merged.Key != entry.row.ProcessKey || !entry.row.RecordingStartTimestamp.Valid {
				t.Errorf("%d to be looked at, key %v, row %+v", s.looks.count(), merged.Key, entry.row)
			}
			if entry.isUnmet() != (test.spent > 0) {
				t.Errorf("unmet: %v", entry.isUnmet())
			}
			if test.meanwhile != nil {
				test.meanwhile(t, command, entry)
			}
			if entry.isUnmet() {
				unmet := entry
				if entry = a.meetLate(t.Context(), unmet); (entry != nil) != test.met {
					t.Fatalf("met: %v", entry)
				}
				if !test.met {
					return
				}
				if entry != s.processes.find(pid) || entry.row.RecordingStartTimestamp != unmet.row.RecordingStartTimestamp {
					t.Errorf("row %+v, was %+v", entry.row, unmet.row)
				}
			}
			defer entry.close()
			if entry.target == nil || entry.row.ProcessKey != keyOf(entry.target) {
				t.Errorf("row %+v", entry.row)
			}
		})
	}
}

// TestStrangersThatAreOver: of a process that is over before its arguments were read, nothing is recorded unless its
// name fits, and the recording says that something may be missing.
func TestStrangersThatAreOver(t *testing.T) {
	command := startSleeping(t)
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	pid := int32(command.Process.Pid)
	for pattern, undecided := range map[string]int{"^sleep$": 0, "^talker$": 1} {
		w, err := writer.Create(t.TempDir(), writer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Discard() }()
		s := strangersOf(&compiled{name: regexp.MustCompile(pattern)}, w)
		s.starts.note(pid, processStart{time: 7, command: "sleep"})
		merged := s.identify(pid)
		if merged.Unwanted != (undecided > 0) || s.journal.report.Undecided != undecided || len(s.journal.warnings.list()) != undecided {
			t.Errorf("%s: unwanted: %v, undecided: %d, warnings: %q", pattern, merged.Unwanted, s.journal.report.Undecided, s.journal.warnings.list())
		}
	}
}

// TestStrangersOfAName: where a name chooses, records come of every program that begins. Those that it does not fit are
// dropped, whether or not there is time to look at them.
func TestStrangersOfAName(t *testing.T) {
	command := startSleeping(t)
	pid := int32(command.Process.Pid)
	for name, test := range map[string]struct {
		pattern string
		wanted  bool
	}{
		"the command fits":          {"^sleep$", true},
		"the command line fits":     {"sleep 600", true},
		"neither the one nor other": {"^talker$", false},
	} {
		for _, spent := range []time.Duration{0, strangersTime} {
			t.Run(fmt.Sprint(name, " ", spent), func(t *testing.T) {
				w, err := writer.Create(t.TempDir(), writer.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = w.Discard() }()
				s := strangersOf(&compiled{name: regexp.MustCompile(test.pattern)}, w)
				payer, err := s.finder.Payer(pid)
				if err != nil {
					t.Fatal(err)
				}
				s.time.has(payer, strangersTime, time.Now())
				s.time.spend(payer, spent)
				merged := s.identify(pid)
				if merged.Unwanted == test.wanted || (s.processes.find(pid) != nil) != test.wanted {
					t.Errorf("unwanted: %v, noted: %v", merged.Unwanted, s.processes.find(pid) != nil)
				}
			})
		}
	}
}
