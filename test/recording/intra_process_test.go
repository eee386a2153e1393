package recording

import (
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// firstMessage is less than the time that passes before the component publishes for the first time.
const firstMessage = 15 * time.Millisecond

// TestIntraProcessIsLeft: what only intra-process communication needs is detached from a process that does without, on
// Humble, and attached again when it begins: with the library that begins with it, so that nothing is missing, or rows
// say until when something is.
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
			span := r.span(data, n.PID())
			if from, to, found := unarmed(data, n.PID()); found && time.Duration(to-from) > firstMessage {
				span.OpenTo = max(span.OpenTo, to) // the machine is too slow for an exact comparison of what was before
			}
			requireExactProcess(t, data, truth, span, oracle.Circumstances{Found: true, Unarmed: true})
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

// TestFewHaveIntraProcess records several processes with links for every one, one of which has intra-process
// communication: it gets links of its own for that, every process has them again when another one begins, and the
// former way again later. Each event of each is recorded once.
func TestFewHaveIntraProcess(t *testing.T) {
	const alone = "intra-process communication is probed in the processes that have it only"
	requireRecording(t)
	requireLong(t)
	if err := loader.Probe().UprobeMultiThreads; err != nil {
		t.Skipf("no process has links of its own beside those for every one: %v", err)
	}
	for _, rmw := range standin.RMWs() {
		t.Run(rmw, func(t *testing.T) {
			t.Parallel()
			l := layout{standin.Humble, rmw}
			prefix := uniqueName("few_" + rmw)
			flags := "--rate 50 --threads 2 --prefix " + prefix
			former := []*node{startReadyNode(t, l, flags), startReadyNode(t, l, flags), startReadyNode(t, l, flags+" --intra-process")}
			r := record(t, session.Configuration{Name: prefix})
			r.waitForMessage(alone)
			r.waitForMoreRows(trace.TableEnqueue, enough)
			later := startReadyNode(t, l, flags)
			r.waitForMoreRows(trace.TableEnqueue, enough)
			r.waitForMessages(2, alone)
			r.waitForMoreRows(trace.TableEnqueue, enough)
			truthOfLater := later.stop()
			var truths []*oracle.Truth
			for _, n := range former {
				truths = append(truths, n.stop())
			}
			data := r.stop()
			for _, truth := range truths {
				requireExactProcess(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{Found: true})
			}
			r.requireSaid(t, data, truthOfLater, false)
			if _, _, missing := unarmed(data, former[2].PID()); missing {
				t.Error("something is said to be missing of who has intra-process communication")
			}
		})
	}
}
