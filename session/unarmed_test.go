package session_test

import (
	"fmt"
	"math"
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

// TestWhatWasNotProbedIsSaid launches programs at once from a script that sets their environment itself: their files
// are not known before the first program maps them. What is missing was done while rows say that the files were not
// probed.
func TestWhatWasNotProbedIsSaid(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		const nodes = 4
		var paths, lines []string
		for range nodes {
			command, path := standin.Command(t, standin.Config{Distro: l.distro, RMW: l.rmw, Arguments: strings.Fields("--rate 50 --nodes 2")})
			lines, paths = append(lines, strings.Join(command.Args, " ")+" &"), append(paths, path)
		}
		script := fmt.Sprintf("export LD_LIBRARY_PATH=%s RMW_IMPLEMENTATION=%s\n%s\nwait",
			standin.Directory(t, l.distro, false), l.rmw, strings.Join(lines, "\n"))
		r := record(t, session.Configuration{Command: []string{"sh", "-c", script}})
		r.waitForRows(trace.TableCallback, nodes*enough)
		for _, path := range paths {
			waitForEntities(t, path)
			terminate(t, path)
		}
		data := r.wait()
		said := false
		for _, path := range paths {
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
