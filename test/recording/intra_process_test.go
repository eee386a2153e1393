package recording

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// firstMessage is less than the time that passes before the component publishes for the first time.
const firstMessage = 15 * time.Millisecond

// TestIntraProcessIsLeft: what only intra-process communication needs is detached from a process that does without, on
// Humble, and attached again when it begins: with the library that begins with it, so that nothing is missing, or the
// recorder says for how long something may be.
func TestIntraProcessIsLeft(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	for _, rmw := range standin.RMWs() {
		t.Run(rmw, func(t *testing.T) {
			t.Parallel()
			n := startReadyNode(t, layout{standin.Humble, rmw}, "--rate 20 --publish-only --intra-process --component default --threads 2")
			r := record(t, session.Configuration{PIDs: n.pidText()})
			r.waitForMessage("there is no intra-process communication")
			r.waitForMoreRows(trace.TableCallback, enough)
			n.Signal(syscall.SIGUSR1)
			r.waitForRows(trace.TableEnqueue, enough)
			data := r.stop()
			truth := n.stop()
			if late := r.longestTold(); late > firstMessage {
				t.Logf("the machine is too slow for an exact comparison: %v", late)
			} else {
				r.requireExact(data, truth, oracle.Circumstances{Found: true, Unarmed: true})
			}
		})
	}
}

// TestIntraProcessBegins records, with links for every process, one that begins with intra-process communication while
// what only that needs is detached, on Humble, because nobody else has any. It is attached again before, or rows say
// until when it was not.
func TestIntraProcessBegins(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	for _, rmw := range standin.RMWs() {
		t.Run(rmw, func(t *testing.T) {
			t.Parallel()
			l := layout{standin.Humble, rmw}
			prefix := uniqueName("begins_" + rmw)
			flags := "--rate 50 --threads 2 --prefix " + prefix
			former := startReadyNode(t, l, flags)
			r := record(t, session.Configuration{Name: prefix})
			r.waitForMessage("there is no intra-process communication")
			later := startReadyNode(t, l, flags+" --intra-process")
			r.waitForRows(trace.TableEnqueue, enough)
			r.waitForMoreRows(trace.TableCallback, enough)
			truthOfLater, truthOfFormer := later.stop(), former.stop()
			data := r.stop()
			requireExactProcess(t, data, truthOfFormer, r.span(data, truthOfFormer.Header.PID), oracle.Circumstances{Found: true})
			first, ok := data.FirstRow(later.PID())
			if !ok {
				t.Fatal("nothing of the later process was recorded")
			}
			_, armed, late := unarmed(data, later.PID())
			part := oracle.Span{OpenFrom: r.began, OpenTo: max(first, armed), CloseFrom: r.closing, CloseTo: r.ended}
			requireExactProcess(t, data, truthOfLater, part, oracle.Circumstances{Unnamed: true, Unarmed: late})
		})
	}
}

var toldTime = regexp.MustCompile(`[0-9.]+(µs|ms|s)\b`)

// longestTold returns the longest time for which the recorder has told that something may be missing.
func (r *recording) longestTold() (longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, message := range r.messages {
		if !strings.Contains(message, "has begun with") && !strings.Contains(message, "if it did something at once") {
			continue
		}
		for _, text := range toldTime.FindAllString(message, -1) {
			if told, err := time.ParseDuration(text); err == nil {
				longest = max(longest, told)
			}
		}
	}
	return longest
}
