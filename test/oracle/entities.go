package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

const serviceType = "example_interfaces/srv/AddTwoInts"

// messageType returns the type of the stand-in's messages on a topic.
func messageType(topic string) string {
	switch {
	case topic == "/clock":
		return "rosgraph_msgs/msg/Clock"
	case strings.HasSuffix(topic, "/loaned"):
		return "standin_msgs/msg/Counter"
	}
	return "standin_msgs/msg/Sample"
}

// recordedEntities compares the tables of entities with the ground truth of a process.
type recordedEntities struct {
	t      *testing.T
	data   *Dataset
	truth  *Truth
	span   Span
	people population
	last   uint64 // of what the process has written down: what ended it came afterwards
}

// RequireEntities requires that the tables of entities say of a process what its ground truth does: one entity for each
// life in the recording, everything known of those that lived when it ended, and no others.
func RequireEntities(t *testing.T, data *Dataset, truth *Truth, s Span) {
	t.Helper()
	e := &recordedEntities{t, data, truth, s, truth.population(), 0}
	for _, thread := range truth.threads {
		for _, hit := range thread.hits() {
			e.last = max(e.last, hit.After)
		}
	}
	e.compareNodes()
	e.comparePublishers()
	e.compareSubscriptions()
	e.compareTimers()
	e.compareServices()
	e.compareClients()
	e.compareCallbacks()
	e.compareGroups()
	e.compareExecutors()
	e.compareStateMachines()
	if len(ofProcess(t, truth, data.Contexts, contextKey)) != 1 {
		t.Errorf("contexts %+v", data.Contexts)
	}
}

// lifetime is that of an entity: before and after its initialization, and around its destruction, which may not have
// happened.
type lifetime struct {
	since, ready uint64
	end          groundtruth.Bracket
	// untraced: it has no initialization event, only a scan of the memory tells of it.
	untraced bool
}

// short reports whether the entity may have ended before its memory was read, however busy the machine is.
func (l lifetime) short() bool {
	return l.end.Happened() && l.end.After < l.since+uint64(5*time.Second)
}

func (e *recordedEntities) lifetimeOf(kind groundtruth.EntityKind, handle, ready uint64) lifetime {
	since := e.truth.initOf(kind, handle, ready)
	end, _ := e.truth.finiOf(kind, handle, since)
	return lifetime{since: since, ready: ready, end: end}
}

// subscriptionLifetime is that of a subscription's rclcpp objects. Generic ones have no tracepoints on Humble.
func (e *recordedEntities) subscriptionLifetime(s groundtruth.Subscription) lifetime {
	l := e.lifetimeOf(groundtruth.EntitySubscription, s.Subscription, s.Time)
	l.untraced = e.truth.Header.Distro == standin.Humble && slices.ContainsFunc(e.truth.RawTakes, func(take groundtruth.RawTake) bool {
		return take.Kind == groundtruth.RawSerialized && take.Subscription == s.Subscription
	})
	return l
}

// entityKey are the columns that every table of entities has.
type entityKey struct {
	process    trace.ProcessKey
	address    uint64
	init, end  *trace.Optional[int64]
	provenance *trace.Provenance
	telling    *trace.Telling
}

// entityTable is a table of entities of which lifetimes claim rows.
type entityTable[T comparable] struct {
	*recordedEntities
	name    string
	key     func(*T) entityKey
	rows    []T
	claimed map[int]bool
}

// ofProcess returns the rows of a process, and requires that there is one for each life at each address.
func ofProcess[T comparable](t *testing.T, truth *Truth, rows []T, key func(*T) entityKey) []T {
	t.Helper()
	type lived struct {
		address uint64
		init    trace.Optional[int64]
	}
	lives := map[lived]T{}
	var own []T
	for _, row := range rows {
		k := key(&row)
		if int(k.process.PID) != truth.Header.PID {
			continue
		}
		life := lived{k.address, *k.init}
		if other, known := lives[life]; known && k.address != 0 {
			t.Errorf("two rows of one entity:\n%+v\n%+v", other, row)
		}
		lives[life] = row
		own = append(own, row)
	}
	return own
}

// NodesOf returns the rows of a process's nodes.
func (d *Dataset) NodesOf(t *testing.T, truth *Truth) []trace.Node {
	t.Helper()
	return ofProcess(t, truth, d.Nodes, nodeKey)
}

// PublishersOf returns the rows of a process's publishers.
func (d *Dataset) PublishersOf(t *testing.T, truth *Truth) []trace.Publisher {
	t.Helper()
	return ofProcess(t, truth, d.Publishers, publisherKey)
}

// TimersOf returns the rows of a process's timers.
func (d *Dataset) TimersOf(t *testing.T, truth *Truth) []trace.Timer {
	t.Helper()
	return ofProcess(t, truth, d.Timers, timerKey)
}

func newEntityTable[T comparable](e *recordedEntities, name string, rows []T, key func(*T) entityKey) *entityTable[T] {
	return &entityTable[T]{e, name, key, ofProcess(e.t, e.truth, rows, key), map[int]bool{}}
}

func (e *recordedEntities) onClock(at trace.Optional[int64]) uint64 {
	return uint64(at.Value - e.data.Session.Clock.RealtimeOffset)
}

// find claims the row of a life. It checks its times and its provenance and returns it without them and without its
// process; nil if the life may be unknown and is. complete says that a scan of the memory has seen it last.
func (x *entityTable[T]) find(address uint64, l lifetime) (row *T, complete bool) {
	x.t.Helper()
	if l.since > x.span.CloseTo {
		return nil, false
	}
	for i := range x.rows {
		copied := x.rows[i]
		k := x.key(&copied)
		if k.address != address || x.claimed[i] || !x.begins(k, l) || !x.ends(k, l) {
			continue
		}
		x.claimed[i] = true
		ended := k.end.Valid
		*k.init, *k.end, *k.provenance, *k.telling = trace.Optional[int64]{}, trace.Optional[int64]{}, "", trace.Telling{}
		return &copied, !ended
	}
	if l.untraced || l.end.Happened() && l.end.After < x.span.OpenFrom {
		return nil, false
	}
	if l.ready < x.span.OpenFrom && (!l.end.Happened() || l.end.Before > x.span.OpenTo) || l.since > x.span.OpenTo && l.ready < x.span.CloseFrom {
		x.t.Errorf("%s %#x, which lived from %d to %+v, has no row in %d to %d:\n%s", x.name, address, l.since, l.end, x.span.OpenTo,
			x.span.CloseFrom, x.at(address))
	}
	return nil, false
}

func (x *entityTable[T]) at(address uint64) string {
	text := ""
	for _, row := range x.rows {
		if x.key(&row).address == address {
			text += fmt.Sprintf("  %+v\n", row)
		}
	}
	return text
}

// begins reports whether a row can be of a life, by its beginning.
func (x *entityTable[T]) begins(k entityKey, l lifetime) bool {
	if !k.init.Valid {
		return (l.since < x.span.OpenTo || l.untraced) && *k.provenance == trace.FromMemory
	}
	at := x.onClock(*k.init)
	return l.since <= at && at <= l.ready && *k.provenance == trace.FromTracepoint
}

// ends reports whether a row can be of a life, by its end.
func (x *entityTable[T]) ends(k entityKey, l lifetime) bool {
	switch {
	case !k.end.Valid:
		return !l.end.Happened() || l.end.After > x.span.CloseFrom
	case !l.end.Happened():
		return x.onClock(*k.end) > x.last
	}
	return l.end.Contains(x.onClock(*k.end))
}

// claimShared claims the rows of a callback that several timers have.
func (x *entityTable[T]) claimShared(address uint64) {
	for i, row := range x.rows {
		if x.key(&row).address == address {
			x.claimed[i] = true
		}
	}
}

// requireNoOthers requires that all rows are claimed.
func (x *entityTable[T]) requireNoOthers() {
	x.t.Helper()
	for i, row := range x.rows {
		if !x.claimed[i] {
			x.t.Errorf("%s that nothing explains: %+v", x.name, row)
		}
	}
}

func expect[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// onlyScanTells is what a row should say that only a scan tells: what it does say, where there was none and it says
// nothing.
func onlyScanTells[V comparable](complete bool, got, want V) V {
	var unknown V
	if !complete && got == unknown {
		return unknown
	}
	return want
}

// something requires a value that the ground truth does not know.
func something[V comparable](t *testing.T, what string, got V) V {
	t.Helper()
	var unknown V
	if got == unknown {
		t.Errorf("%s is unknown", what)
	}
	return got
}

func (e *recordedEntities) compareNodes() {
	e.t.Helper()
	x := newEntityTable(e, "node", e.data.Nodes, nodeKey)
	for _, node := range e.truth.Nodes {
		if row, _ := x.find(node.Node, e.lifetimeOf(groundtruth.EntityNode, node.Node, node.Time)); row != nil {
			expect(e.t, *row, trace.Node{
				ProcessKey: row.ProcessKey, NodeHandle: trace.Address(node.Node), RMWHandle: trace.Address(node.RMWNode), NodeName: node.Name,
				Namespace: node.Namespace,
			})
		}
	}
	x.requireNoOthers()
}

func (e *recordedEntities) comparePublishers() {
	e.t.Helper()
	x := newEntityTable(e, "publisher", e.data.Publishers, publisherKey)
	for _, p := range e.truth.Publishers {
		row, complete := x.find(p.Publisher, e.lifetimeOf(groundtruth.EntityPublisher, p.Publisher, p.Time))
		if row == nil {
			continue
		}
		expect(e.t, *row, trace.Publisher{
			ProcessKey: row.ProcessKey, PublisherHandle: trace.Address(p.Publisher), NodeHandle: trace.Address(p.Node),
			RMWPublisherHandle: trace.Address(p.RMWPublisher), TopicName: p.Topic, QueueDepth: trace.Some(p.Depth),
			NodeName: e.people.nodeName(p.Node, p.Time), MessageType: onlyScanTells(complete, row.MessageType, messageType(p.Topic)), GID: e.gidOf(p),
		})
	}
	x.requireNoOthers()
}

func (e *recordedEntities) gidOf(p groundtruth.Publisher) string {
	gid := ""
	for _, init := range e.truth.RMWPublisherInits {
		if init.Handle == p.RMWPublisher && init.Bracket.Before <= p.Time {
			gid = init.GID
		}
	}
	return gid
}

// groupOf returns the callback group that an entity was put into during its life.
func (e *recordedEntities) groupOf(what string, handle uint64, l lifetime) trace.Address {
	for _, added := range e.truth.CallbackGroupAdds {
		if added.What == what && added.Handle == handle && added.Bracket.Before >= l.since &&
			(!l.end.Happened() || added.Bracket.Before < l.end.Before) {
			return trace.Address(added.Group)
		}
	}
	return 0
}

func (e *recordedEntities) compareSubscriptions() {
	e.t.Helper()
	x := newEntityTable(e, "subscription", e.data.Subscriptions, subscriptionKey)
	for _, s := range e.truth.Subscriptions {
		l := e.subscriptionLifetime(s)
		common := trace.Subscription{
			SubscriptionHandle: trace.Address(s.Subscription), NodeHandle: trace.Address(s.Node),
			RMWSubscriptionHandle: trace.Address(s.RMWSubscription), TopicName: s.Topic, QueueDepth: trace.Some(s.Depth),
			NodeName: e.people.nodeName(s.Node, s.Time), CallbackGroup: e.groupOf("add_subscription", s.Subscription, l), MessageType: messageType(s.Topic),
		}
		if row, complete := x.find(s.Object, l); row != nil {
			want := common
			want.ProcessKey, want.Subscription, want.Callback = row.ProcessKey, trace.Address(s.Object), trace.Address(s.Callback)
			want.IsIntraProcess = trace.Some(false)
			want.MessageType = onlyScanTells(complete, row.MessageType, messageType(s.Topic))
			expect(e.t, *row, want)
		} else if l.untraced {
			l.untraced = false
			if row, _ := x.find(0, l); row != nil {
				want := common
				want.ProcessKey, want.MessageType = row.ProcessKey, ""
				expect(e.t, *row, want)
			}
		}
		if s.IntraObject == 0 {
			continue
		}
		if row, complete := x.find(s.IntraObject, l); row != nil {
			want := common
			want.ProcessKey, want.Subscription, want.Callback = row.ProcessKey, trace.Address(s.IntraObject), trace.Address(s.IntraCallback)
			want.IsIntraProcess, want.Buffer, want.Capacity = trace.Some(true), trace.Address(s.Buffer), trace.Some(s.Depth)
			want.IPB = something(e.t, "the intra-process buffer", row.IPB)
			want.MessageType = onlyScanTells(complete, row.MessageType, messageType(s.Topic))
			expect(e.t, *row, want)
		}
	}
	x.requireNoOthers()
}

func (e *recordedEntities) compareTimers() {
	e.t.Helper()
	x := newEntityTable(e, "timer", e.data.Timers, timerKey)
	for _, timer := range e.truth.Timers {
		l := e.lifetimeOf(groundtruth.EntityTimer, timer.Timer, timer.Time)
		if row, _ := x.find(timer.Timer, l); row != nil {
			expect(e.t, *row, trace.Timer{
				ProcessKey: row.ProcessKey, TimerHandle: trace.Address(timer.Timer), Period: trace.Some(timer.Period),
				NodeHandle: trace.Address(timer.Node), NodeName: e.people.nodeName(timer.Node, timer.Time),
				Callback: trace.Address(timer.Callback), CallbackGroup: e.groupOf("add_timer", timer.Timer, l),
			})
		}
	}
	x.requireNoOthers()
}

func (e *recordedEntities) compareServices() {
	e.t.Helper()
	x := newEntityTable(e, "service_server", e.data.ServiceServers, serviceKey)
	for _, s := range e.truth.Services {
		l := e.lifetimeOf(groundtruth.EntityService, s.Service, s.Time)
		if row, complete := x.find(s.Service, l); row != nil {
			expect(e.t, *row, trace.ServiceServer{
				ProcessKey: row.ProcessKey, ServiceHandle: trace.Address(s.Service), NodeHandle: trace.Address(s.Node),
				RMWServiceHandle: something(e.t, "the service's rmw handle", row.RMWServiceHandle), ServiceName: s.Name,
				ServiceType: onlyScanTells(complete, row.ServiceType, serviceType), Callback: trace.Address(s.Callback),
				CallbackGroup: e.groupOf("add_service", s.Service, l), NodeName: e.people.nodeName(s.Node, s.Time),
			})
		}
	}
	x.requireNoOthers()
}

func (e *recordedEntities) compareClients() {
	e.t.Helper()
	x := newEntityTable(e, "client", e.data.Clients, clientKey)
	for _, client := range e.truth.Clients {
		l := e.lifetimeOf(groundtruth.EntityClient, client.Client, client.Time)
		row, complete := x.find(client.Client, l)
		if row == nil {
			continue
		}
		gid := row.GID
		if sent := e.gidOfClient(client.Client, l); sent != "" {
			gid = onlyScanTells(complete || l.since >= e.span.OpenTo, row.GID, sent) // the initialization tells it, too
		}
		expect(e.t, *row, trace.Client{
			ProcessKey: row.ProcessKey, ClientHandle: trace.Address(client.Client), NodeHandle: trace.Address(client.Node),
			RMWClientHandle: something(e.t, "the client's rmw handle", row.RMWClientHandle), ServiceName: client.Name,
			ServiceType: onlyScanTells(complete, row.ServiceType, serviceType), GID: gid,
			CallbackGroup: e.groupOf("add_client", client.Client, l), NodeName: e.people.nodeName(client.Node, client.Time),
		})
	}
	x.requireNoOthers()
}

// gidOfClient returns what a client's requests called it, "" if it sent none.
func (e *recordedEntities) gidOfClient(client uint64, l lifetime) string {
	for _, step := range e.truth.ServiceSteps {
		if step.Step == groundtruth.StepSendRequest && step.Client == client && step.Bracket.Before >= l.since &&
			(!l.end.Happened() || step.Bracket.Before < l.end.Before) {
			if e.truth.Header.RMW == standin.CycloneDDS {
				return step.ClientGID[:cycloneClientDigits]
			}
			return step.ClientGID
		}
	}
	return ""
}

func (e *recordedEntities) compareCallbacks() {
	e.t.Helper()
	x := newEntityTable(e, "callback_info", e.data.CallbackInfos, callbackKey)
	var shortTimers, namedShortTimers int
	compare := func(address uint64, l lifetime, want trace.CallbackInfo) {
		row, _ := x.find(address, l)
		if row == nil {
			return
		}
		// From Jazzy on, programs tell the functions of callbacks to LTTng only; a timer's is in the name of its type.
		told := e.truth.Header.Distro == standin.Humble && l.since > e.span.OpenTo || want.Kind == trace.KindTimer && !l.short()
		if row.Symbol == "" && told {
			e.t.Errorf("callback %+v has no symbol", *row)
		}
		if want.Kind == trace.KindTimer && l.short() {
			shortTimers++
			if row.Symbol != "" {
				namedShortTimers++
			}
		}
		want.ProcessKey, want.Callback, want.Symbol = row.ProcessKey, trace.Address(address), row.Symbol
		expect(e.t, *row, want)
	}
	for _, s := range e.truth.Subscriptions {
		l := e.subscriptionLifetime(s)
		want := trace.CallbackInfo{
			Kind: trace.KindSubscription, OwnerHandle: trace.Address(s.Subscription), TopicName: s.Topic,
			NodeName: e.people.nodeName(s.Node, s.Time), CallbackGroup: e.groupOf("add_subscription", s.Subscription, l),
		}
		compare(s.Callback, l, want)
		if want.Kind = trace.KindIntraProcessSubscription; s.IntraCallback != 0 {
			compare(s.IntraCallback, l, want)
		}
	}
	for _, timer := range e.truth.Timers {
		l := e.lifetimeOf(groundtruth.EntityTimer, timer.Timer, timer.Time)
		if e.truth.SharesCallback(timer) {
			x.claimShared(timer.Callback)
			continue
		}
		compare(timer.Callback, l, trace.CallbackInfo{
			Kind: trace.KindTimer, OwnerHandle: trace.Address(timer.Timer), NodeName: e.people.nodeName(timer.Node, timer.Time),
			Period: trace.Some(timer.Period), CallbackGroup: e.groupOf("add_timer", timer.Timer, l),
		})
	}
	if shortTimers >= 5 && namedShortTimers == 0 {
		e.t.Errorf("not one of %d timers that lived shortly has a symbol", shortTimers)
	}
	for _, s := range e.truth.Services {
		l := e.lifetimeOf(groundtruth.EntityService, s.Service, s.Time)
		compare(s.Callback, l, trace.CallbackInfo{
			Kind: trace.KindService, OwnerHandle: trace.Address(s.Service), TopicName: s.Name,
			NodeName: e.people.nodeName(s.Node, s.Time), CallbackGroup: e.groupOf("add_service", s.Service, l),
		})
	}
	x.requireNoOthers()
}

// compareGroups compares callback groups. The ground truth does not tell their end, and an address may be that of
// several.
func (e *recordedEntities) compareGroups() {
	e.t.Helper()
	nodes := map[uint64][]groundtruth.CallbackGroup{}
	for _, group := range e.truth.CallbackGroups {
		nodes[group.Group] = append(nodes[group.Group], group)
	}
	seen := map[uint64]bool{}
	for i, row := range e.data.CallbackGroups {
		improved := slices.ContainsFunc(e.data.CallbackGroups[i+1:], func(later trace.CallbackGroup) bool {
			return later.ProcessKey == row.ProcessKey && later.CallbackGroup == row.CallbackGroup
		})
		if int(row.PID) != e.truth.Header.PID || improved && !row.EndTimestamp.Valid {
			continue
		}
		address := uint64(row.CallbackGroup)
		seen[address] = true
		same := func(group groundtruth.CallbackGroup) bool {
			return string(row.GroupTypeName) == string(group.Type) && uint64(row.NodeHandle) == group.Node &&
				row.NodeName == e.people.nodeName(group.Node, group.Time)
		}
		if row.NodeHandle == 0 && (row.EndTimestamp.Valid || e.last < e.span.CloseTo) {
			continue // it had gone, perhaps with its process, before a scan
		}
		if !slices.ContainsFunc(nodes[address], same) {
			e.t.Errorf("callback group %+v is none of %+v", row, nodes[address])
		}
		executors := e.executorsOf(address)
		if uint64(row.Executor) != 0 && !executors[uint64(row.Executor)] || row.Executor == 0 && len(executors) > 0 && !row.EndTimestamp.Valid {
			e.t.Errorf("callback group %+v is in %#x", row, slices.Collect(maps.Keys(executors)))
		}
	}
	for address, groups := range nodes {
		if last := groups[len(groups)-1]; last.Time < e.span.CloseFrom && !seen[address] && e.livesAtEnd(last.Node, last.Time) {
			e.t.Errorf("callback group %+v has no row", last)
		}
	}
}

func (e *recordedEntities) livesAtEnd(node, at uint64) bool {
	alive, _ := e.people.nodes.at(node, at)
	end, ended := e.truth.finiOf(groundtruth.EntityNode, node, alive.since)
	return !ended || end.Before > e.span.CloseTo
}

// executorsOf returns all executors that an address was added to as a callback group.
func (e *recordedEntities) executorsOf(group uint64) map[uint64]bool {
	executors := map[uint64]bool{}
	for _, added := range e.truth.AddCallbackGroups {
		if added.Group != group || added.Bracket.Before > e.span.CloseTo {
			continue
		}
		if added.Executor != 0 {
			executors[added.Executor] = true
		}
		for _, constructed := range e.truth.ConstructExecutors {
			if added.Collector != 0 && constructed.Collector == added.Collector {
				executors[constructed.Executor] = true
			}
		}
	}
	return executors
}

func (e *recordedEntities) compareExecutors() {
	e.t.Helper()
	x := newEntityTable(e, "executor", e.data.Executors, executorKey)
	for _, executor := range e.truth.ConstructExecutors {
		l := lifetime{since: executor.Bracket.Before, ready: executor.Bracket.After}
		for _, destroyed := range e.truth.DestroyExecutors {
			if destroyed.Executor == executor.Executor && destroyed.Bracket.Before >= l.ready && !l.end.Happened() {
				l.end = destroyed.Bracket
			}
		}
		row, complete := x.find(executor.Executor, l)
		if row == nil {
			continue
		}
		want := trace.Executor{
			ProcessKey: row.ProcessKey, Executor: trace.Address(executor.Executor), ExecutorType: string(executor.Type),
			EntitiesCollector: trace.Address(executor.Collector), ThreadCount: row.ThreadCount,
		}
		if multi := executor.Type == groundtruth.ExecutorMultiThreaded; complete && multi != row.ThreadCount.Valid {
			e.t.Errorf("threads of %+v", *row)
		}
		want.EntitiesCollector = onlyScanTells(complete, row.EntitiesCollector, want.EntitiesCollector)
		expect(e.t, *row, want)
	}
	x.requireNoOthers()
}

// compareStateMachines expects only those whose initialization was recorded: the stand-in's are in no object that a
// scan finds.
func (e *recordedEntities) compareStateMachines() {
	e.t.Helper()
	x := newEntityTable(e, "lifecycle_state_machine", e.data.LifecycleStateMachines, stateMachineKey)
	for _, machine := range e.truth.LifecycleStateMachineInits {
		node, _ := e.people.nodes.at(machine.Node, machine.Bracket.Before)
		end, _ := e.truth.finiOf(groundtruth.EntityNode, machine.Node, node.since)
		if machine.Bracket.Before <= e.span.OpenTo {
			continue
		}
		if row, _ := x.find(machine.StateMachine, lifetime{since: machine.Bracket.Before, ready: machine.Bracket.After, end: end}); row != nil {
			expect(e.t, *row, trace.LifecycleStateMachine{
				ProcessKey: row.ProcessKey, StateMachine: trace.Address(machine.StateMachine), NodeHandle: trace.Address(machine.Node),
				NodeName: fullName(node.entity),
			})
		}
	}
	x.requireNoOthers()
}

func contextKey(r *trace.Context) entityKey {
	return entityKey{r.ProcessKey, uint64(r.ContextHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func stateMachineKey(r *trace.LifecycleStateMachine) entityKey {
	return entityKey{r.ProcessKey, uint64(r.StateMachine), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func groupKey(r *trace.CallbackGroup) entityKey {
	return entityKey{r.ProcessKey, uint64(r.CallbackGroup), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func nodeKey(r *trace.Node) entityKey {
	return entityKey{r.ProcessKey, uint64(r.NodeHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func publisherKey(r *trace.Publisher) entityKey {
	return entityKey{r.ProcessKey, uint64(r.PublisherHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func subscriptionKey(r *trace.Subscription) entityKey {
	return entityKey{r.ProcessKey, uint64(r.Subscription), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func timerKey(r *trace.Timer) entityKey {
	return entityKey{r.ProcessKey, uint64(r.TimerHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func serviceKey(r *trace.ServiceServer) entityKey {
	return entityKey{r.ProcessKey, uint64(r.ServiceHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func clientKey(r *trace.Client) entityKey {
	return entityKey{r.ProcessKey, uint64(r.ClientHandle), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func callbackKey(r *trace.CallbackInfo) entityKey {
	return entityKey{r.ProcessKey, uint64(r.Callback), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}

func executorKey(r *trace.Executor) entityKey {
	return entityKey{r.ProcessKey, uint64(r.Executor), &r.InitTimestamp, &r.EndTimestamp, &r.Provenance, &r.Telling}
}
