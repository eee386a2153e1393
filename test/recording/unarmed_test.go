package recording

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// unarmed returns when files of a process were not probed, all together, on the ground truth's clock. False if they
// always were.
func unarmed(data *oracle.Dataset, pid int) (from, to uint64, found bool) {
	from = math.MaxUint64
	for _, loss := range data.Losses {
		if loss.Reason == trace.LossUnarmed && int(loss.PID) == pid {
			from = min(from, uint64(loss.FromTimestamp-data.Session.Clock.RealtimeOffset))
			to = max(to, uint64(loss.ToTimestamp-data.Session.Clock.RealtimeOffset))
			found = true
		}
	}
	return from, to, found
}

// requireSaid compares the recording with what a process did, but for the time in which rows say that files of it were
// not probed. early says that it may have begun before the recording. It returns whether there are such rows.
func (r *recording) requireSaid(t *testing.T, data *oracle.Dataset, truth *oracle.Truth, early bool) bool {
	t.Helper()
	span, known := r.span(data, truth.Header.PID), oracle.Circumstances{Unnamed: early}
	from, to, found := unarmed(data, truth.Header.PID)
	if found {
		known = oracle.Circumstances{Unnamed: true, Unarmed: true}
		span.OpenFrom, span.OpenTo = min(max(from, span.OpenFrom), to), max(to, span.OpenTo)
	}
	oracle.RequireExact(t, data, truth, span, known)
	return found
}

// launchedTogether are programs that a script launches at once, which sets their environment itself.
type launchedTogether struct {
	script string
	truths []string
}

func launchTogether(t *testing.T, l layout) launchedTogether {
	t.Helper()
	const nodes = 4
	var together launchedTogether
	lines := []string{fmt.Sprintf("export LD_LIBRARY_PATH=%s RMW_IMPLEMENTATION=%s", standin.Directory(t, l.distro, false), l.rmw)}
	for range nodes {
		command, path := standin.Command(t, standin.Config{Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields("--rate 50 --nodes 2")})
		lines, together.truths = append(lines, strings.Join(command.Args, " ")+" &"), append(together.truths, path)
	}
	together.script = strings.Join(append(lines, "wait"), "\n")
	return together
}

// record records the script until all programs have told of their entities.
func (together launchedTogether) record(
	t *testing.T, configuration session.Configuration, options ...func(*session.Options),
) (*recording, *oracle.Dataset) {
	t.Helper()
	configuration.Command = []string{"sh", "-c", together.script}
	r := record(t, configuration, options...)
	r.waitForRows(trace.TableCallback, uint64(len(together.truths))*enough)
	for _, path := range together.truths {
		waitForEntities(t, path)
		terminate(t, path)
	}
	return r, r.wait()
}

// requireNothingMissing requires that all files were probed before they were mapped, and nothing is missing.
func (together launchedTogether) requireNothingMissing(t *testing.T, r *recording, data *oracle.Dataset) {
	t.Helper()
	for _, path := range together.truths {
		truth := readTruth(t, path)
		if from, to, found := unarmed(data, truth.Header.PID); found {
			t.Errorf("files of PID %d were not probed for %d ns", truth.Header.PID, to-from)
		}
		oracle.RequireExact(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{})
	}
	if data.Session.Unarmed != 0 {
		t.Errorf("%d files are said to have been unarmed", data.Session.Unarmed)
	}
}

// TestWhatWasNotProbedIsSaid launches programs whose files are not known before the first one maps them. What is
// missing was done while rows say that the files were not probed.
func TestWhatWasNotProbedIsSaid(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		together := launchTogether(t, l)
		r, data := together.record(t, session.Configuration{})
		said := false
		for _, path := range together.truths {
			truth := readTruth(t, path)
			span := r.span(data, truth.Header.PID)
			if from, to, found := unarmed(data, truth.Header.PID); found {
				said = true
				span.OpenFrom, span.OpenTo = max(from, span.OpenFrom), to
			}
			oracle.RequireExact(t, data, truth, span, oracle.Circumstances{Unnamed: true, Unarmed: true})
		}
		if !said || data.Session.Unarmed == 0 {
			t.Errorf("nothing is said to have been unarmed, in session.json %d files", data.Session.Unarmed)
		}
	})
}

// TestPrefixesAreProbedBefore launches the same programs, with their libraries where the user says, or where ROS 2 is
// installed: nothing is missing.
func TestPrefixesAreProbedBefore(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		folder := t.TempDir()
		prefix := filepath.Join(folder, "package")
		if err := os.MkdirAll(filepath.Join(prefix, "share", "ament_index"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(standin.Directory(t, l.distro, false), filepath.Join(prefix, "lib")); err != nil {
			t.Fatal(err)
		}
		for name, where := range map[string]struct {
			configuration session.Configuration
			installed     string
		}{
			"a prefix":                 {session.Configuration{Prefixes: []string{prefix}}, ""},
			"a folder with a package":  {session.Configuration{Prefixes: []string{folder}}, ""},
			"a distribution installed": {session.Configuration{}, folder},
		} {
			t.Run(name, func(t *testing.T) {
				together := launchTogether(t, l)
				r, data := together.record(t, where.configuration, func(o *session.Options) { o.Installed = where.installed })
				together.requireNothingMissing(t, r, data)
			})
		}
	})
}

// TestEnvironmentIsProbedBefore records by name programs that begin later, with their libraries where the recorder's
// environment says: nothing is missing.
func TestEnvironmentIsProbedBefore(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		prefix := filepath.Join(t.TempDir(), "package")
		if err := os.MkdirAll(prefix, 0o755); err != nil {
			t.Fatal(err)
		}
		libraries := standin.Directory(t, l.distro, false)
		if err := os.Symlink(libraries, filepath.Join(prefix, "lib")); err != nil {
			t.Fatal(err)
		}
		for variable, value := range map[string]string{"AMENT_PREFIX_PATH": "relative:" + prefix, "LD_LIBRARY_PATH": libraries} {
			t.Run(variable, func(t *testing.T) {
				t.Setenv(variable, value)
				name := uniqueName("environment")
				r := record(t, session.Configuration{Name: name}, func(o *session.Options) { o.Installed = t.TempDir() })
				n := startReadyNode(t, l, "--rate 50 --nodes 2 --prefix "+name)
				r.waitForRows(trace.TableCallback, enough)
				truth := n.stop()
				data := r.stop()
				if from, to, found := unarmed(data, n.PID()); found {
					t.Errorf("files were not probed for %d ns", to-from)
				}
				requireExactProcess(t, data, truth, r.span(data, n.PID()), oracle.Circumstances{})
			})
		}
	})
}

// TestFilesOfEarlierRecordingsAreProbedBefore launches the same programs twice, with their libraries where nothing says
// that there are any: the second time nothing is missing.
func TestFilesOfEarlierRecordingsAreProbedBefore(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		cache := t.TempDir()
		for _, time := range []string{"first", "second"} {
			together := launchTogether(t, l)
			r, data := together.record(t, session.Configuration{}, func(o *session.Options) { o.Cache = cache })
			if time == "first" {
				continue
			}
			together.requireNothingMissing(t, r, data)
		}
	})
}
