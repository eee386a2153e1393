package recording

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestSchedulingAddsUp: with the time of callbacks split, everything else is recorded as without, and the parts of each
// complete callback add up to its duration. Callbacks are nested, move between CPUs, throw and defer responses.
func TestSchedulingAddsUp(t *testing.T) {
	const flags = "--move-every 3 --threads 2 --rate 50 --nested-depth 3 --nested-rate 20 --service-rate 20 --deferred-service-rate 20 --throw-every 31"
	forEachLayout(t, func(t *testing.T, l layout) {
		n := startReadyNode(t, l, flags)
		r := record(t, session.Configuration{PIDs: n.pidText(), Scheduling: session.SchedulingCallbacks})
		r.waitForRows(trace.TableCallback, 4*enough)
		data := r.stop()
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		requirePartsAddUp(t, data)
	})
}

// TestSchedulingIsLeftOut: what was not asked for is not there.
func TestSchedulingIsLeftOut(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		n := startReadyNode(t, l, "--rate 50")
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableCallback, enough)
		for _, row := range r.stop().Callbacks {
			if row.CPUTime.Valid || oracle.CheckParts(&row) != "" {
				t.Fatalf("%+v", row)
			}
		}
	})
}

// TestTimesOffTheCPU: with --sched=full the times off the CPU within each callback add up to its parts.
func TestTimesOffTheCPU(t *testing.T) {
	const flags = "--move-every 3 --threads 2 --rate 50 --nested-depth 3 --nested-rate 20 --throw-every 31"
	forEachLayout(t, func(t *testing.T, l layout) {
		n := startReadyNode(t, l, flags)
		r := record(t, session.Configuration{PIDs: n.pidText(), Scheduling: session.SchedulingFull})
		r.waitForRows(trace.TableCallback, 4*enough)
		data := r.stop()
		requireTimesOffCPU(t, data)
		forgetMissedSwitches(t, data)
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		requirePartsAddUp(t, data)
		requirePathParts(t, r.dir)
		requireTimesDrawn(t, r.dir)
	})
}

// forgetMissedSwitches takes out losses that the kernel explains: that of a sandbox hides the switches away from its
// own agent.
func forgetMissedSwitches(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	missed := uint64(0)
	data.Losses = slices.DeleteFunc(data.Losses, func(loss trace.Loss) bool {
		if loss.Kind != trace.LostSched || loss.Reason != trace.LossMissed {
			return false
		}
		missed += loss.Count
		return true
	})
	if missed > 2+uint64(len(data.Scheds))/20 {
		t.Errorf("beside %d times off the CPU %d were missed", len(data.Scheds), missed)
	}
}

// requireTimesOffCPU compares times off the CPU with the callbacks in which they were.
func requireTimesOffCPU(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	times := map[int32][]trace.Sched{}
	for _, row := range data.Scheds {
		if problem := oracle.CheckSched(&row); problem != "" {
			t.Fatalf("%s: %+v", problem, row)
		}
		times[row.TID] = append(times[row.TID], row)
	}
	known, inside := 0, 0
	for _, row := range data.Callbacks {
		if !row.CPUTime.Valid {
			continue
		}
		known++
		sums := trace.Callback{PreemptedTime: trace.Some[int64](0), BlockedTime: trace.Some[int64](0), WakeupLatency: trace.Some[int64](0)}
		for _, off := range times[row.TID] {
			if off.SchedOutTimestamp < row.CallbackStartTimestamp.Value || off.SchedInTimestamp > row.CallbackEndTimestamp.Value {
				continue
			}
			inside++
			if off.CallbackStartTimestamp.Value < row.CallbackStartTimestamp.Value {
				t.Fatalf("it is not of a callback that began before:\n%+v\n%+v", off, row)
			}
			addOffCPU(&sums, &off)
		}
		if sums.PreemptedTime != row.PreemptedTime || sums.BlockedTime != row.BlockedTime || sums.WakeupLatency != row.WakeupLatency ||
			sums.Preemptions.Value != row.Preemptions.Value || sums.Migrations.Value != row.Migrations.Value {
			t.Fatalf("times off the CPU add up to\n%+v, the row of their callback is\n%+v", sums, row)
		}
	}
	if known == 0 || inside == 0 || inside == len(data.Scheds) {
		t.Errorf("of %d times off the CPU %d were in %d callbacks", len(data.Scheds), inside, known)
	}
	t.Logf("of %d times off the CPU %d were in %d callbacks", len(data.Scheds), inside, known)
}

// addOffCPU adds a time off the CPU to the parts of a callback.
func addOffCPU(sums *trace.Callback, off *trace.Sched) {
	more := func(sum *trace.Optional[int64], time int64) { *sum = trace.Some(sum.Value + time) }
	woken := off.SchedInTimestamp
	preempted := int64(0)
	if off.Kind == trace.SchedPreempted {
		preempted = off.SchedInTimestamp - off.SchedOutTimestamp
		sums.Preemptions.Value++
	} else {
		woken = min(max(off.WakingTimestamp.Value, off.SchedOutTimestamp), off.SchedInTimestamp)
		more(&sums.BlockedTime, woken-off.SchedOutTimestamp)
	}
	more(&sums.PreemptedTime, preempted)
	more(&sums.WakeupLatency, off.SchedInTimestamp-woken)
	if off.OutCPU != off.InCPU {
		sums.Migrations.Value++
	}
}

// requirePartsAddUp checks that parts are known, all or none, and add up. They are not known of a thread's first
// callback if no step or take came before, of one whose thread was switched in the middle of a probe, and where the
// kernel does not tell of a switch: that of a sandbox hides those away from its own agent, once a second.
func requirePartsAddUp(t *testing.T, data *oracle.Dataset) {
	t.Helper()
	complete, known, threads := 0, 0, map[int32]bool{}
	for _, row := range data.Callbacks {
		if problem := oracle.CheckParts(&row); problem != "" {
			t.Fatalf("%s: %+v", problem, row)
		}
		if row.Status != trace.CallbackComplete {
			continue
		}
		complete++
		threads[row.TID] = true
		if row.CPUTime.Valid {
			known++
		}
	}
	if unknown := complete - known; complete == 0 || unknown > len(threads)+complete/20 {
		t.Errorf("of %d complete callbacks of %d threads the parts are known of %d", complete, len(threads), known)
	}
}

// spending is what a callback of testdata/spender has measured of itself. Times are nanoseconds.
type spending struct {
	way                               string
	begin, end, onCPU, waitedForCPU   int64
	switchedAwayByOthers, byItsOwnWay int32
}

// TestSchedulingTellsWays compares the parts with what callbacks measure of themselves: one computes, one sleeps, one
// waits for a mutex, and one is preempted by a thread of a higher priority.
func TestSchedulingTellsWays(t *testing.T) {
	requireRoot(t)
	for _, distro := range standin.Distros() {
		t.Run(distro, func(t *testing.T) {
			prefix := standin.Directory(t, distro, true)
			compareWays(t, exec.Command(filepath.Join(prefix, "spender")), map[string]string{"RMW_IMPLEMENTATION": standin.CycloneDDS, "ROS_DOMAIN_ID": fmt.Sprint(standin.Domain(t))})
		})
	}
}

// TestROSSchedulingTellsWays does so with ROS 2.
func TestROSSchedulingTellsWays(t *testing.T) {
	forEachROS(t, func(t *testing.T, ros rosEnvironment) {
		if output, err := exec.Command("../../scripts/build-on-ros.sh").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		compareWays(t, exec.Command(filepath.Join("../../build/on-ros", ros.Distro, "spender")), ros.Variables())
	})
}

// executions is how often each way is compared, at least.
const executions = 25

func compareWays(t *testing.T, program *exec.Cmd, variables map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spent")
	program.Args = append(program.Args, file)
	program.Env = os.Environ()
	for name, value := range variables {
		program.Env = append(program.Env, name+"="+value)
	}
	var said strings.Builder
	program.Stdout, program.Stderr = &said, &said
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = program.Process.Signal(syscall.SIGKILL)
		_ = program.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	for deadline := time.Now().Add(patience); !strings.Contains(readSpent(t, file), "ready"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the program does not get ready")
		}
	}
	var r *recording
	var data *oracle.Dataset
	var all []spending
	for delayed, tries := 0, 0; delayed < executions/4; tries++ {
		if tries == 3 {
			t.Fatalf("of %d recordings, the last has %d executions of which it is certain that they were late", tries, delayed)
		}
		r = record(t, session.Configuration{PIDs: fmt.Sprint(program.Process.Pid), Scheduling: session.SchedulingFull})
		r.waitForRows(trace.TableCallback, 10*executions)
		data = r.stop()
		requirePartsAddUp(t, data)
		all = parseSpent(t, readSpent(t, file))
		delayed = compareDelays(t, r.dir, data, all)
	}
	compared := map[string]*comparison{}
	requirePreempter(t, r.dir, program.Process.Pid)
	requireTimesDrawn(t, r.dir)
	for _, spent := range all {
		row, found := executionAround(data, &spent)
		if !found || !row.CPUTime.Valid {
			continue
		}
		if compared[spent.way] == nil {
			compared[spent.way] = &comparison{}
		}
		compared[spent.way].add(t, &row, &spent)
		if isDueToItself(data, &row, program.Process.Pid, spent.way) {
			compared[spent.way].dueToItself++
		}
	}
	for _, way := range []string{"computes", "sleeps", "waits", "is_preempted"} {
		if compared[way] == nil || compared[way].executions < executions/2 {
			t.Fatalf("of the callback that %s, %+v could be compared", way, compared[way])
		}
		compared[way].check(t, way)
	}
	// An interrupt may wake the one that waits, when nobody else runs there.
	for _, way := range []string{"waits", "is_preempted"} {
		if c := compared[way]; c.dueToItself < c.executions*3/4 {
			t.Errorf("of %d callbacks that %s, %d were off the CPU due to their own program", c.executions, way, c.dueToItself)
		}
	}
}

// compareDelays compares what timers' callbacks waited for with what the program says that its only executor did: it
// ran the others. It returns how many were late: few, where it is not certain when they were due, on a machine that is
// so busy that one was late by half a period.
func compareDelays(t *testing.T, dir string, data *oracle.Dataset, spent []spending) (delayed int) {
	t.Helper()
	differ, offset := 0, data.Session.Clock.RealtimeOffset
	_, err := oracle.OpenQuery(t, dir).CallbackDelays(t.Context(), func(executions []analyze.DelayedExecution) error {
		for _, e := range executions {
			const longEnough = int64(time.Millisecond)
			if e.Since != analyze.DelayDue || e.Latency < longEnough {
				continue
			}
			others, unmeasured, start := int64(0), int64(100*time.Microsecond), e.Begin-offset
			for _, s := range spent {
				within := max(0, min(s.end, start)-max(s.begin, start-e.Latency))
				if others += within; within > 0 {
					unmeasured += unmeasuredOf(data, &s)
				}
			}
			if delayed++; math.Abs(beyond(float64(e.OtherCallbacks-others), float64(unmeasured))) > tolerance*float64(e.Latency) {
				differ++
			}
			if (e.Behind == "") != (e.OtherCallbacks == 0) || e.BehindTime.Value > e.OtherCallbacks {
				t.Errorf("%+v", e)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if differ > delayed/4 {
		t.Errorf("of %d executions that were late, %d waited otherwise than the program says", delayed, differ)
	}
	t.Logf("of %d executions that were late, %d waited otherwise than the program says", delayed, differ)
	return delayed
}

// unmeasuredOf is the time of a callback that it could not measure itself: a moment at its begin and at its end, which
// is long in an emulated machine.
func unmeasuredOf(data *oracle.Dataset, s *spending) int64 {
	row, found := executionAround(data, s)
	if !found || !row.CallbackEndTimestamp.Valid {
		return 0
	}
	return row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value - (s.end - s.begin)
}

// requirePreempter requires that a thread of the program itself is named as the one that preempted a callback most, for
// about as long as that one computes.
func requirePreempter(t *testing.T, dir string, pid int) {
	t.Helper()
	results, err := oracle.OpenQuery(t, dir).CallbackParts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, r := range results {
		if r.PreemptedByTime.Value > r.PreemptedTime.Value {
			t.Errorf("it was preempted by one thread for longer than in all: %+v", r)
		}
		named = named || r.PreemptedByPID.Value == int32(pid) && r.PreemptedByTime.Value >= int64(3*time.Millisecond)
	}
	if !named {
		t.Errorf("a thread of process %d has preempted a callback for 5 ms each time, and is not named: %+v", pid, results)
	}
}

// isDueToItself reports whether a callback was once off the CPU because a thread of its own program had taken that, by
// its real-time priority, or until one had released the mutex.
func isDueToItself(data *oracle.Dataset, callback *trace.Callback, pid int, way string) bool {
	const lowestRealTime = 99
	return slices.ContainsFunc(data.Scheds, func(off trace.Sched) bool {
		if off.TID != callback.TID || off.CallbackStartTimestamp != callback.CallbackStartTimestamp || off.OtherPID.Value != int32(pid) {
			return false
		}
		if way == "is_preempted" {
			return off.Kind == trace.SchedPreempted && off.OtherPriority.Value <= lowestRealTime && off.Priority > lowestRealTime
		}
		return off.Kind == trace.SchedBlocked
	})
}

func readSpent(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// parseSpent reads whole lines.
func parseSpent(t *testing.T, text string) (all []spending) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		if line == "ready" {
			continue
		}
		var s spending
		if _, err := fmt.Sscan(line, &s.way, &s.begin, &s.end, &s.onCPU, &s.waitedForCPU, &s.switchedAwayByOthers, &s.byItsOwnWay); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, s)
	}
	return all
}

// executionAround is the row of the callback that has measured itself.
func executionAround(data *oracle.Dataset, spent *spending) (trace.Callback, bool) {
	offset := data.Session.Clock.RealtimeOffset
	for _, row := range data.Callbacks {
		if row.Status == trace.CallbackComplete && row.Depth == 0 && row.CallbackStartTimestamp.Value-offset <= spent.begin && row.CallbackEndTimestamp.Value-offset >= spent.end {
			return row, true
		}
	}
	return trace.Callback{}, false
}

// comparison compares the executions of a callback with what each has measured of itself, which is all but a moment at
// its begin and its end.
type comparison struct {
	executions, doubtful, otherwise, dueToItself int

	// Differences, in shares of the duration. off is all of the time off the CPU.
	cpu, off, preempted, blocked []float64
}

// tolerance is the share of a callback's duration that a part may differ by.
const tolerance = 0.02

func (c *comparison) add(t *testing.T, row *trace.Callback, spent *spending) {
	t.Helper()
	c.executions++
	if spent.byItsOwnWay == 0 {
		// Of what interrupts and a hypervisor take of it while it is on a CPU, the kernel charges a thread with nothing.
		spent.onCPU = spent.end - spent.begin - spent.waitedForCPU
	}
	duration := float64(row.CallbackEndTimestamp.Value - row.CallbackStartTimestamp.Value)
	more := duration - float64(spent.end-spent.begin)
	share := func(recorded, told int64) float64 { return beyond(float64(recorded-told), more) / duration }
	// Off the CPU as a whole: for the kernel a thread waits for a CPU from when that CPU has put it into its queue, which
	// is later than its waking.
	cpu := share(row.CPUTime.Value, spent.onCPU)
	off := share(row.BlockedTime.Value+row.WakeupLatency.Value+row.PreemptedTime.Value, spent.end-spent.begin-spent.onCPU)
	c.cpu, c.off = append(c.cpu, cpu), append(c.off, off)
	switch spent.way {
	case "sleeps", "waits":
		c.blocked = append(c.blocked, share(row.BlockedTime.Value, spent.end-spent.begin-spent.onCPU-spent.waitedForCPU))
	case "is_preempted":
		// Such a callback waits for nothing: all of the time off the CPU it could have run.
		preempted := share(row.PreemptedTime.Value+row.WakeupLatency.Value, spent.end-spent.begin-spent.onCPU)
		c.preempted = append(c.preempted, preempted)
	}
	if max(math.Abs(cpu), math.Abs(off)) > tolerance {
		c.doubtful++
	}
	if row.Preemptions.Value < spent.switchedAwayByOthers {
		t.Errorf("a callback that %s was preempted %d times, by its own account %d times", spent.way, row.Preemptions.Value, spent.switchedAwayByOthers)
	}
	most := map[string]int64{"computes": row.CPUTime.Value, "sleeps": row.BlockedTime.Value, "waits": row.BlockedTime.Value}
	if part, known := most[spent.way]; known && float64(part) < duration/2 {
		c.otherwise++
	}
	if spent.way == "is_preempted" && row.Preemptions.Value == 0 {
		t.Errorf("a callback that is preempted was never: %+v", row)
	}
}

// beyond is by how much a difference is negative, or more than what was not measured.
func beyond(difference, unmeasured float64) float64 {
	if difference < 0 {
		return difference
	}
	return max(0, difference-unmeasured)
}

// check wants agreement, as a rule to the tolerance: a virtual machine can stand still between two looks at the same
// clock.
func (c *comparison) check(t *testing.T, way string) {
	t.Helper()
	cpu, off := measure.Median(c.cpu), measure.Median(c.off)
	if max(math.Abs(cpu), math.Abs(off)) > tolerance || c.doubtful > c.executions/4 {
		t.Errorf("a callback that %s: on a CPU %.3f of its duration more, off it %.3f more than by its own account; %d of %d differ by more than %v",
			way, cpu, off, c.doubtful, c.executions, tolerance)
	}
	if len(c.blocked) > 0 {
		blocked := measure.Median(c.blocked)
		if math.Abs(blocked) > tolerance {
			t.Errorf("a callback that %s: it was blocked for %.3f of its duration more than by its own account", way, blocked)
		}
		t.Logf("%s: blocked %+.4f", way, blocked)
	}
	if len(c.preempted) > 0 {
		if preempted := measure.Median(c.preempted); math.Abs(preempted) > tolerance {
			t.Errorf("a callback that %s: it could have run for %.3f of its duration more than it was off the CPU by its own account", way, preempted)
		}
	}
	if c.otherwise > c.executions/4 {
		t.Errorf("a callback that %s did something else for most of its time in %d of %d executions", way, c.otherwise, c.executions)
	}
	t.Logf("%s: on a CPU %+.4f, off it %+.4f; %d of %d differ by more than %v", way, cpu, off, c.doubtful, c.executions, tolerance)
}

// requirePathParts compares the parts of the hops of all paths with their latencies. What is not known is counted.
func requirePathParts(t *testing.T, dir string) {
	t.Helper()
	q := oracle.OpenQuery(t, dir)
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, _, err := q.Architecture.Paths(t.Context(), system.PathQuery{})
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		path     string
		instance uint64
		hop      int
	}
	options := analyze.PathOptions{FirstCallback: true, LastCallback: true}
	whole := map[key]analyze.PathHopInstance{}
	hops, err := q.PathLatency(t.Context(), paths, options, func(batch []analyze.PathHopInstance) error {
		for _, hop := range batch {
			whole[key{hop.Path, hop.Instance.Value, hop.Hop}] = hop
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	known := uint64(0)
	results, err := q.PathParts(t.Context(), paths, options, func(batch []analyze.PartedHop) error {
		for _, hop := range batch {
			p := hop.HopParts
			sum := p.CPUTime + p.OtherCallbacks + p.Executor + p.PreemptedTime + p.BlockedTime + p.WakeupLatency
			of, found := whole[key{hop.Path, hop.Instance, hop.Hop}]
			if !found || sum != hop.Latency || hop.Begin != of.Begin || hop.Latency != of.Latency.Value {
				t.Errorf("parts that add up to %d:\n%+v\n%+v", sum, hop, of)
			}
			known++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counted, unknown := uint64(0), uint64(0)
	for i, r := range results {
		if r.Count+r.Unknown != hops[i].Count || r.Hop != hops[i].Hop {
			t.Errorf("%d and %d ways, there are %d: %+v", r.Count, r.Unknown, hops[i].Count, r)
		}
		if r.Hop > 0 {
			counted, unknown = counted+r.Count, unknown+r.Unknown
		}
	}
	if counted != known || known == 0 || unknown > 2*known {
		t.Errorf("%d hops were passed, of %d it is known where their time went, of %d it is not", known, counted, unknown)
	}
	t.Logf("of %d hops it is known where their time went, of %d it is not", known, unknown)
}
