package session_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == session.LaunchArgument {
		if err := session.BecomeCommand(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(127)
	}
	if os.Getenv(mapperVariable) != "" {
		runMapper(os.Args[2:])
		os.Exit(1)
	}
	if os.Getenv(recorderVariable) != "" {
		fmt.Fprintln(os.Stderr, runRecorder())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("recording needs root: run the tests with sudo")
	}
}

// monotonic returns the ground truth's clock.
func monotonic() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return uint64(now.Nano())
}

// recording is a running session.
type recording struct {
	t        *testing.T
	dir      string
	cancel   context.CancelFunc
	done     chan error
	status   chan session.Status
	mu       sync.Mutex
	messages []string
	// began and ended are around session.Run; opened and closing are in between, when the gate was open for certain. All
	// are on the ground truth's clock.
	began, opened, closing, ended uint64
}

// begin begins a recording without waiting for anything; opened is closed when its gate is open.
func begin(t *testing.T, configuration session.Configuration) (r *recording, opened chan struct{}) {
	t.Helper()
	return beginAtCosts(t, configuration, nil)
}

// beginAtCosts is begin where hits cost what is given.
func beginAtCosts(t *testing.T, configuration session.Configuration, costs *probes.Costs) (r *recording, opened chan struct{}) {
	t.Helper()
	r = &recording{
		t: t, dir: filepath.Join(t.TempDir(), "recording"), done: make(chan error, 1), status: make(chan session.Status, 1),
	}
	if configuration.Output == "" {
		configuration.Output = r.dir
	}
	r.dir = configuration.Output
	opened = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	finished := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-finished // nothing may attach to what the next test starts
	})
	r.began = monotonic()
	go func() {
		defer close(finished)
		r.done <- session.Run(ctx, configuration, session.Options{Version: "test", Costs: costs, Trusted: owners(t), Observer: session.Observer{
			Recording: func() {
				r.opened = monotonic()
				close(opened)
			},
			Status:  r.keepStatus,
			Message: r.keepMessage,
		}})
	}()
	return r, opened
}

// owners are the users whose files the tests record: whoever has checked out and built them.
func owners(t *testing.T) []uint32 {
	t.Helper()
	var users []uint32
	for _, path := range []string{"..", "../build/testdata"} {
		var stat unix.Stat_t
		if err := unix.Stat(path, &stat); err == nil {
			users = append(users, stat.Uid)
		}
	}
	return users
}

// keepStatus keeps the latest status.
func (r *recording) keepStatus(status session.Status) {
	select {
	case <-r.status:
	default:
	}
	r.status <- status
}

func (r *recording) keepMessage(text string) {
	r.t.Log("recorder:", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, text)
}

// said reports whether the recorder has said something that contains a text.
func (r *recording) said(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.messages, func(message string) bool { return strings.Contains(message, text) })
}

// waitForMessage waits until the recorder has said something that contains a text.
func (r *recording) waitForMessage(text string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if r.said(text) {
			return
		}
		if len(r.done) > 0 {
			r.t.Fatalf("the recording ended before the recorder said %q", text)
		}
	}
	r.t.Fatalf("the recorder does not say %q", text)
}

// record begins a recording and waits until it is open.
func record(t *testing.T, configuration session.Configuration) *recording {
	t.Helper()
	return recordAtCosts(t, configuration, nil)
}

// recordAtCosts is record where hits cost what is given; nil means the defaults.
func recordAtCosts(t *testing.T, configuration session.Configuration, costs *probes.Costs) *recording {
	t.Helper()
	r, opened := beginAtCosts(t, configuration, costs)
	select {
	case <-opened:
	case err := <-r.done:
		t.Fatalf("the recording ended before it began: %v", err)
	case <-time.After(patience):
		t.Fatal("the recording does not begin")
	}
	return r
}

// waitForRows waits until a table has at least so many rows.
func (r *recording) waitForRows(table string, count uint64) {
	r.t.Helper()
	r.waitFor(fmt.Sprintf("%d rows in %s", count, table), func(s session.Status) bool { return s.Rows[table] >= count })
}

// waitForMoreRows waits until a table has so many rows more than now.
func (r *recording) waitForMoreRows(table string, count uint64) {
	r.t.Helper()
	now := uint64(0)
	r.waitFor("a status", func(s session.Status) bool {
		now = s.Rows[table]
		return true
	})
	r.waitForRows(table, now+count)
}

// waitFor waits for something that the status shows.
func (r *recording) waitFor(what string, reached func(session.Status) bool) {
	r.t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case status := <-r.status:
			if reached(status) {
				return
			}
		case err := <-r.done:
			r.done <- err
			r.t.Fatalf("the recording ended (%v) before it had %s", err, what)
		case <-timeout:
			r.t.Fatalf("the recording does not get %s", what)
		}
	}
}

// stop ends the recording as Ctrl-C does and reads it.
func (r *recording) stop() *dataset {
	r.t.Helper()
	r.closing = monotonic()
	r.cancel()
	return r.wait()
}

// wait waits for the end of the recording and reads it.
func (r *recording) wait() *dataset {
	r.t.Helper()
	if err := r.waitForEnd(); err != nil {
		r.t.Fatalf("recording: %v", err)
	}
	data := readDataset(r.t, r.dir)
	requireProcessRows(r.t, data)
	return data
}

// waitForEnd waits for the end of the recording and returns how it went.
func (r *recording) waitForEnd() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		r.ended = monotonic()
		if r.closing == 0 {
			r.closing = r.ended
		}
		return err
	case <-time.After(patience):
		r.t.Fatal("the recording does not end")
		return nil
	}
}

// dataset is a recording in memory.
type dataset struct {
	Session                *trace.Session
	Callbacks              []trace.Callback
	Publishes              []trace.Publish
	Takes                  []trace.Take
	Enqueues               []trace.Enqueue
	Services               []trace.Service
	Lifecycles             []trace.Lifecycle
	SimTimes               []trace.SimTime
	Events                 []trace.Event
	Processes              []trace.Process
	Nodes                  []trace.Node
	Publishers             []trace.Publisher
	Subscriptions          []trace.Subscription
	Timers                 []trace.Timer
	ServiceServers         []trace.ServiceServer
	Clients                []trace.Client
	CallbackInfos          []trace.CallbackInfo
	CallbackGroups         []trace.CallbackGroup
	Executors              []trace.Executor
	Contexts               []trace.Context
	LifecycleStateMachines []trace.LifecycleStateMachine
	Losses                 []trace.Loss
	Clocks                 []trace.Clock
}

func readDataset(t *testing.T, dir string) *dataset {
	t.Helper()
	opened, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if warning := opened.Warning(); warning != "" {
		t.Error(warning)
	}
	data := &dataset{Session: opened.Session()}
	scan(t, opened, trace.TableCallback, &data.Callbacks)
	scan(t, opened, trace.TablePublish, &data.Publishes)
	scan(t, opened, trace.TableTake, &data.Takes)
	scan(t, opened, trace.TableEnqueue, &data.Enqueues)
	scan(t, opened, trace.TableService, &data.Services)
	scan(t, opened, trace.TableLifecycle, &data.Lifecycles)
	scan(t, opened, trace.TableSimTime, &data.SimTimes)
	scan(t, opened, trace.TableEvent, &data.Events)
	scan(t, opened, trace.TableProcess, &data.Processes)
	scan(t, opened, trace.TableNode, &data.Nodes)
	scan(t, opened, trace.TablePublisher, &data.Publishers)
	scan(t, opened, trace.TableSubscription, &data.Subscriptions)
	scan(t, opened, trace.TableTimer, &data.Timers)
	scan(t, opened, trace.TableServiceServer, &data.ServiceServers)
	scan(t, opened, trace.TableClient, &data.Clients)
	scan(t, opened, trace.TableCallbackInfo, &data.CallbackInfos)
	scan(t, opened, trace.TableCallbackGroup, &data.CallbackGroups)
	scan(t, opened, trace.TableExecutor, &data.Executors)
	scan(t, opened, trace.TableContext, &data.Contexts)
	scan(t, opened, trace.TableLifecycleStateMachine, &data.LifecycleStateMachines)
	scan(t, opened, trace.TableLoss, &data.Losses)
	scan(t, opened, trace.TableClock, &data.Clocks)
	return data
}

func scan[T any](t *testing.T, d *trace.Dataset, table string, into *[]T) {
	t.Helper()
	err := trace.Scan(context.Background(), d, table, func(rows []T) error {
		*into = append(*into, rows...)
		return nil
	})
	if err != nil {
		t.Errorf("table %s: %v", table, err)
	}
	// In a dataset that was closed, what is read is what is there.
	if stored, err := trace.Count(context.Background(), d, table); err != nil || d.Session().Ending != trace.EndingRunning && stored != uint64(len(*into)) {
		t.Errorf("table %s: %d rows are stored, %d read, %v", table, stored, len(*into), err)
	}
}

// lost sums the losses by kind.
func (d *dataset) lost() map[trace.LossKind]uint64 {
	sum := map[trace.LossKind]uint64{}
	for _, loss := range d.Losses {
		sum[loss.Kind] += loss.Count
	}
	return sum
}

// span returns when a process was recorded that was there from the beginning to the end. Its first row shows that the
// recording had begun.
func (r *recording) span(data *dataset, pid int) span {
	s := span{OpenFrom: r.began, OpenTo: r.opened, CloseFrom: r.closing, CloseTo: r.ended}
	if first, ok := data.firstRow(pid); ok {
		s.OpenTo = min(s.OpenTo, first)
	}
	return s
}

// startedAt returns the rows of the processes that started at an instant.
func (d *dataset) startedAt(start int64) *dataset {
	of := &dataset{Session: d.Session, Losses: d.Losses}
	keep(&of.Callbacks, d.Callbacks, func(row trace.Callback) bool { return row.ProcessStart == start })
	keep(&of.Publishes, d.Publishes, func(row trace.Publish) bool { return row.ProcessStart == start })
	keep(&of.Takes, d.Takes, func(row trace.Take) bool { return row.ProcessStart == start })
	keep(&of.Enqueues, d.Enqueues, func(row trace.Enqueue) bool { return row.ProcessStart == start })
	keep(&of.Services, d.Services, func(row trace.Service) bool { return row.ProcessStart == start })
	keep(&of.Lifecycles, d.Lifecycles, func(row trace.Lifecycle) bool { return row.ProcessStart == start })
	keep(&of.SimTimes, d.SimTimes, func(row trace.SimTime) bool { return row.ProcessStart == start })
	keep(&of.Processes, d.Processes, func(row trace.Process) bool { return row.ProcessStart == start })
	keep(&of.Publishers, d.Publishers, func(row trace.Publisher) bool { return row.ProcessStart == start })
	keep(&of.Timers, d.Timers, func(row trace.Timer) bool { return row.ProcessStart == start })
	return of
}

// split returns the rows of what was over at an instant on the ground truth's clock, and of what began then.
func (d *dataset) split(at uint64) (before, after *dataset) {
	instant := int64(at) + d.Session.Clock.RealtimeOffset
	part := func(wanted func(first int64) bool) *dataset {
		of := &dataset{Session: d.Session, Losses: d.Losses, Processes: d.Processes}
		keep(&of.Callbacks, d.Callbacks, func(row trace.Callback) bool {
			return wanted(firstValid(row.RMWTakeTimestamp, row.DequeueTimestamp, row.CallbackStartTimestamp, row.CallbackEndTimestamp))
		})
		keep(&of.Publishes, d.Publishes, func(row trace.Publish) bool {
			layers := layersOf(&row)
			return wanted(firstValid(layers[:]...))
		})
		keep(&of.Takes, d.Takes, func(row trace.Take) bool { return wanted(firstValid(row.RMWTakeTimestamp, row.DequeueTimestamp)) })
		keep(&of.Enqueues, d.Enqueues, func(row trace.Enqueue) bool { return wanted(row.EnqueueTimestamp) })
		keep(&of.Services, d.Services, func(row trace.Service) bool { return wanted(row.StepTimestamp) })
		keep(&of.Lifecycles, d.Lifecycles, func(row trace.Lifecycle) bool { return wanted(row.TransitionTimestamp) })
		keep(&of.SimTimes, d.SimTimes, func(row trace.SimTime) bool { return wanted(row.UpdateTimestamp) })
		born := func(key entityKey) bool { return wanted(key.init.Value) }
		keep(&of.Nodes, d.Nodes, func(row trace.Node) bool { return born(nodeKey(&row)) })
		keep(&of.Publishers, d.Publishers, func(row trace.Publisher) bool { return born(publisherKey(&row)) })
		keep(&of.Subscriptions, d.Subscriptions, func(row trace.Subscription) bool { return born(subscriptionKey(&row)) })
		keep(&of.Timers, d.Timers, func(row trace.Timer) bool { return born(timerKey(&row)) })
		keep(&of.ServiceServers, d.ServiceServers, func(row trace.ServiceServer) bool { return born(serviceKey(&row)) })
		keep(&of.Clients, d.Clients, func(row trace.Client) bool { return born(clientKey(&row)) })
		keep(&of.CallbackInfos, d.CallbackInfos, func(row trace.CallbackInfo) bool { return born(callbackKey(&row)) })
		keep(&of.CallbackGroups, d.CallbackGroups, func(row trace.CallbackGroup) bool { return born(groupKey(&row)) })
		keep(&of.Executors, d.Executors, func(row trace.Executor) bool { return born(executorKey(&row)) })
		keep(&of.Contexts, d.Contexts, func(row trace.Context) bool { return born(contextKey(&row)) })
		return of
	}
	return part(func(first int64) bool { return first < instant }), part(func(first int64) bool { return first >= instant })
}

// firstValid returns the first of the instants that is not null.
func firstValid(instants ...trace.Optional[int64]) int64 {
	for _, at := range instants {
		if at.Valid {
			return at.Value
		}
	}
	return 0
}

func keep[T any](to *[]T, rows []T, wanted func(T) bool) {
	for _, row := range rows {
		if wanted(row) {
			*to = append(*to, row)
		}
	}
}

// firstRow returns the first instant of a process in the dataset, on the ground truth's clock.
func (d *dataset) firstRow(pid int) (uint64, bool) {
	first := int64(0)
	see := func(key trace.ProcessKey, at trace.Optional[int64]) {
		if int(key.PID) == pid && at.Valid && (first == 0 || at.Value < first) {
			first = at.Value
		}
	}
	for i := range d.Callbacks {
		row := &d.Callbacks[i]
		see(row.ProcessKey, row.CallbackStartTimestamp)
		see(row.ProcessKey, row.CallbackEndTimestamp)
		see(row.ProcessKey, row.RMWTakeTimestamp)
		see(row.ProcessKey, row.DequeueTimestamp)
	}
	for i := range d.Publishes {
		for _, at := range layersOf(&d.Publishes[i]) {
			see(d.Publishes[i].ProcessKey, at)
		}
	}
	for i := range d.Takes {
		see(d.Takes[i].ProcessKey, d.Takes[i].RMWTakeTimestamp)
	}
	return uint64(first - d.Session.Clock.RealtimeOffset), first != 0
}

// requireExact requires that the recording has exactly what happened in a process, and lost nothing. Names may be
// missing where the recorder said that it had no time to look for them, as on a slow emulated machine.
func (r *recording) requireExact(data *dataset, truth *truth, known circumstances) *comparison {
	r.t.Helper()
	known.unnamed = known.unnamed || r.said("was cut short")
	return requireExact(r.t, data, truth, r.span(data, truth.Header.PID), known)
}

func requireExact(t *testing.T, data *dataset, truth *truth, s span, known circumstances) *comparison {
	t.Helper()
	result := compare(truth, data, s, known)
	for _, difference := range result.Differences {
		t.Error(difference)
	}
	lost := data.lost()
	if n := result.Missing[trace.LostInit]; n > lost[trace.LostInit] {
		t.Errorf("%d lifecycle transitions are missing, but only %d initialization events were lost; for example %q", n, lost[trace.LostInit],
			result.Examples)
	}
	delete(result.Missing, trace.LostInit)
	// The ground truth does not count the other initialization events, nor these.
	delete(lost, trace.LostInit)
	delete(lost, trace.LostProcess)
	delete(lost, trace.LostThread)
	least := result.Missing[trace.LostCallback]
	if n := lost[trace.LostCallback]; n > least && n <= least+result.Doubtful {
		result.Missing[trace.LostCallback] = n
	}
	if !maps.Equal(lost, result.Missing) {
		t.Errorf("missing: %v, perhaps %d callbacks more, but lost: %v; for example %q", result.Missing, result.Doubtful, lost, result.Examples)
	}
	t.Logf("PID %d: compared %v, %d transitions, %v with %d callbacks, %d publishes, %d takes, %d enqueues; %v; lost %v", truth.Header.PID, result.Compared, result.Transitions, result.Kinds,
		len(truth.Callbacks), len(truth.Publishes), len(truth.Takes), len(truth.Enqueues), result.Statuses, data.lost())
	return result
}
