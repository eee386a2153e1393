package oracle

import (
	"context"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Dataset is a recording in memory.
type Dataset struct {
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

// ReadDataset reads all tables of a recording, and requires that they have what their files say.
func ReadDataset(t *testing.T, dir string) *Dataset {
	t.Helper()
	opened, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if warning := opened.Warning(); warning != "" {
		t.Error(warning)
	}
	data := &Dataset{Session: opened.Session()}
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

// Lost sums the losses by kind.
func (d *Dataset) Lost() map[trace.LossKind]uint64 {
	sum := map[trace.LossKind]uint64{}
	for _, loss := range d.Losses {
		sum[loss.Kind] += loss.Count
	}
	return sum
}

// StartedAt returns the rows of the processes that started at an instant.
func (d *Dataset) StartedAt(start int64) *Dataset {
	of := &Dataset{Session: d.Session, Losses: d.Losses}
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

// Split returns the rows of what was over at an instant on the ground truth's clock, and of what began then.
func (d *Dataset) Split(at uint64) (before, after *Dataset) {
	instant := int64(at) + d.Session.Clock.RealtimeOffset
	part := func(wanted func(first int64) bool) *Dataset {
		of := &Dataset{Session: d.Session, Losses: d.Losses, Processes: d.Processes}
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

// Since returns the recording without what happened before a time.
func (d *Dataset) Since(from int64) *Dataset {
	later := *d
	later.Callbacks = slices.DeleteFunc(d.Callbacks, func(row trace.Callback) bool {
		return row.CallbackStartTimestamp.Valid && row.CallbackStartTimestamp.Value < from
	})
	later.Publishes = slices.DeleteFunc(d.Publishes, func(row trace.Publish) bool {
		layers := layersOf(&row)
		return slices.ContainsFunc(layers[:], func(at trace.Optional[int64]) bool { return at.Valid && at.Value < from })
	})
	later.Takes = slices.DeleteFunc(d.Takes, func(row trace.Take) bool {
		return row.RMWTakeTimestamp.Valid && row.RMWTakeTimestamp.Value < from
	})
	later.Enqueues = slices.DeleteFunc(d.Enqueues, func(row trace.Enqueue) bool { return row.EnqueueTimestamp < from })
	later.Services = slices.DeleteFunc(d.Services, func(row trace.Service) bool { return row.StepTimestamp < from })
	later.Lifecycles = slices.DeleteFunc(d.Lifecycles, func(row trace.Lifecycle) bool { return row.TransitionTimestamp < from })
	return &later
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

// FirstRow returns the first instant of a process in the dataset, on the ground truth's clock.
func (d *Dataset) FirstRow(pid int) (uint64, bool) {
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
