package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Load reads what datasets tell of the systems that they recorded; those of several hosts or of several recorders are
// one system. What damaged segments held is missing, and Warnings says so. progress, which may be nil, is called with
// the rows that were read of those that have to be; it may be called by several goroutines.
func Load(ctx context.Context, progress func(read, total int64), datasets ...*trace.Dataset) (*Architecture, error) {
	l, err := LoadEntities(ctx, datasets...)
	if err != nil {
		return nil, err
	}
	if err := l.LoadActivity(ctx, progress, datasets...); err != nil {
		return nil, err
	}
	return l.result, nil
}

// LoadEntities reads the entity tables only: what callbacks publish and poll is not known yet, nor are communications.
func LoadEntities(ctx context.Context, datasets ...*trace.Dataset) (*Loader, error) {
	l := newLoader()
	for _, d := range datasets {
		if err := l.readEntities(ctx, d, trace.NewEntityLimit()); err != nil {
			return nil, fmt.Errorf("read the entities of %s: %w", d.Dir(), err)
		}
	}
	l.build()
	return l, nil
}

// Loader gathers an Architecture: first the entities, then what callbacks do.
type Loader struct {
	result *Architecture

	processes     map[trace.ProcessKey]trace.Process
	nodes         *lifeRows[Place, trace.Node]
	publishers    *lifeRows[Place, trace.Publisher]
	subscriptions *lifeRows[subscriptionKey, trace.Subscription]
	timers        *lifeRows[Place, trace.Timer]
	services      *lifeRows[Place, trace.ServiceServer]
	clients       *lifeRows[Place, trace.Client]
	callbacks     *lifeRows[Place, trace.CallbackInfo]
	groups        *lifeRows[Place, trace.CallbackGroup]
	executors     *lifeRows[Place, trace.Executor]

	finders
	warned    map[string]bool
	publishes map[publishedIn]uint64
	polls     map[polledIn]uint64
}

// finders find what rows name while the entities are made. They are dropped then.
type finders struct {
	described    map[int32]bool // indexes of callbacks.rows that belong to a known owner
	infosAt      LivesAt[int32] // of callbacks.rows
	nodesAt      LivesAt[*Node]
	nodesByName  map[nodeName]*Residents[*Node] // nil until a row names one
	unknownNodes map[nodeName]*Node
	groupsAt     LivesAt[*CallbackGroup]
	executorsAt  LivesAt[*Executor]
}

func newFinders() finders {
	return finders{
		described: make(map[int32]bool), infosAt: make(LivesAt[int32]), nodesAt: make(LivesAt[*Node]),
		unknownNodes: make(map[nodeName]*Node), groupsAt: make(LivesAt[*CallbackGroup]), executorsAt: make(LivesAt[*Executor]),
	}
}

// subscriptionKey is what a row of the table subscription is of: an rcl subscription and an object that serves it.
type subscriptionKey struct {
	process              trace.ProcessKey
	subscription, object trace.Address
}

type nodeName struct {
	process trace.ProcessKey
	name    string
}

type publishedIn struct {
	callback  *Callback // nil: outside of callbacks
	publisher *Publisher
}

type polledIn struct {
	callback     *Callback
	subscription *Subscription
}

func newLoader() *Loader {
	return &Loader{
		result:    &Architecture{index: newIndex()},
		processes: make(map[trace.ProcessKey]trace.Process),
		nodes: newLifeRows(func(r *trace.Node) Place { return Place{r.ProcessKey, r.NodeHandle} },
			func(r *trace.Node) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		publishers: newLifeRows(func(r *trace.Publisher) Place { return Place{r.ProcessKey, r.PublisherHandle} },
			func(r *trace.Publisher) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		subscriptions: newLifeRows(func(r *trace.Subscription) subscriptionKey {
			return subscriptionKey{r.ProcessKey, r.SubscriptionHandle, r.Subscription}
		}, func(r *trace.Subscription) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		timers: newLifeRows(func(r *trace.Timer) Place { return Place{r.ProcessKey, r.TimerHandle} },
			func(r *trace.Timer) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		services: newLifeRows(func(r *trace.ServiceServer) Place { return Place{r.ProcessKey, r.ServiceHandle} },
			func(r *trace.ServiceServer) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		clients: newLifeRows(func(r *trace.Client) Place { return Place{r.ProcessKey, r.ClientHandle} },
			func(r *trace.Client) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		callbacks: newLifeRows(func(r *trace.CallbackInfo) Place { return Place{r.ProcessKey, r.Callback} },
			func(r *trace.CallbackInfo) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		groups: newLifeRows(func(r *trace.CallbackGroup) Place { return Place{r.ProcessKey, r.CallbackGroup} },
			func(r *trace.CallbackGroup) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		executors: newLifeRows(func(r *trace.Executor) Place { return Place{r.ProcessKey, r.Executor} },
			func(r *trace.Executor) Life { return Life{r.InitTimestamp, r.EndTimestamp} }),
		finders:   newFinders(),
		warned:    make(map[string]bool),
		publishes: make(map[publishedIn]uint64),
		polls:     make(map[polledIn]uint64),
	}
}

// Architecture returns what is known so far; LoadActivity completes it.
func (l *Loader) Architecture() *Architecture { return l.result }

// Lives returns the lives of the entities that a table tells of; nil for tables of anything else, and for callbacks,
// which have owners.
func (l *Loader) Lives(table string) []Life {
	switch table {
	case trace.TableNode:
		return l.nodes.lives()
	case trace.TablePublisher:
		return l.publishers.lives()
	case trace.TableSubscription:
		return l.subscriptions.lives()
	case trace.TableTimer:
		return l.timers.lives()
	case trace.TableServiceServer:
		return l.services.lives()
	case trace.TableClient:
		return l.clients.lives()
	case trace.TableCallbackGroup:
		return l.groups.lives()
	case trace.TableExecutor:
		return l.executors.lives()
	}
	return nil
}

func (l *Loader) readEntities(ctx context.Context, d *trace.Dataset, limit *trace.EntityLimit) error {
	for _, err := range []error{
		trace.ScanWithin(ctx, d, trace.TableProcess, limit, func(rows []trace.Process) error {
			for _, p := range rows {
				l.processes[p.ProcessKey] = p
			}
			return nil
		}),
		readLives(ctx, d, trace.TableNode, limit, l.nodes),
		readLives(ctx, d, trace.TablePublisher, limit, l.publishers),
		readLives(ctx, d, trace.TableSubscription, limit, l.subscriptions),
		readLives(ctx, d, trace.TableTimer, limit, l.timers),
		readLives(ctx, d, trace.TableServiceServer, limit, l.services),
		readLives(ctx, d, trace.TableClient, limit, l.clients),
		readLives(ctx, d, trace.TableCallbackInfo, limit, l.callbacks),
		readLives(ctx, d, trace.TableCallbackGroup, limit, l.groups),
		readLives(ctx, d, trace.TableExecutor, limit, l.executors),
	} {
		if err := l.warnOfDamage(err); err != nil {
			return err
		}
	}
	return nil
}

func readLives[K comparable, R any](ctx context.Context, d *trace.Dataset, table string, limit *trace.EntityLimit, lives *lifeRows[K, R]) error {
	return trace.ScanWithin(ctx, d, table, limit, func(rows []R) error {
		for i := range rows {
			lives.add(&rows[i])
		}
		return nil
	})
}

// warnOfDamage takes damaged segments as warnings and returns any other error.
func (l *Loader) warnOfDamage(err error) error {
	var damaged *trace.DamageError
	if !errors.As(err, &damaged) {
		return err
	}
	for _, segment := range damaged.Segments {
		if l.warn(segment.Error()) {
			l.result.Damaged = append(l.result.Damaged, segment)
		}
	}
	return nil
}

// warn returns whether it had not warned of that before.
func (l *Loader) warn(text string) bool {
	if l.warned[text] {
		return false
	}
	l.warned[text] = true
	l.result.Warnings = append(l.result.Warnings, text)
	return true
}

// build makes the entities and links them.
func (l *Loader) build() {
	l.result.Processes = slices.SortedFunc(maps.Values(l.processes), func(a, b trace.Process) int { return CompareProcesses(a.ProcessKey, b.ProcessKey) })
	for i := range l.nodes.rows {
		row := &l.nodes.rows[i]
		node := &Node{Process: row.ProcessKey, Name: fullName(row.Namespace, row.NodeName), Handle: row.NodeHandle, Life: Life{row.InitTimestamp, row.EndTimestamp}}
		l.nodesAt.Add(row.ProcessKey, row.NodeHandle, node.Life, node)
		l.result.Nodes = append(l.result.Nodes, node)
	}
	l.nodesAt.Arrange()
	for i := range l.executors.rows {
		row := &l.executors.rows[i]
		e := &Executor{Process: row.ProcessKey, Type: row.ExecutorType, Address: row.Executor, Life: Life{row.InitTimestamp, row.EndTimestamp}}
		l.executorsAt.Add(row.ProcessKey, row.Executor, e.Life, e)
		l.result.Executors = append(l.result.Executors, e)
	}
	l.executorsAt.Arrange()
	for i := range l.callbacks.rows {
		row := &l.callbacks.rows[i]
		l.infosAt.Add(row.ProcessKey, row.Callback, Life{row.InitTimestamp, row.EndTimestamp}, int32(i))
	}
	l.infosAt.Arrange()
	l.buildGroups()
	l.buildPublishers()
	l.buildSubscriptions()
	l.buildTimers()
	l.buildServices()
	l.buildOtherCallbacks()
	l.finders = finders{}
	l.result.index.settle()
	l.nameEntities()
}

// fullName joins a namespace and a node's name as rcl_node_get_fully_qualified_name does.
func fullName(namespace, name string) string {
	if name == "" {
		return ""
	}
	return "/" + strings.TrimPrefix(strings.TrimSuffix(namespace, "/")+"/"+name, "/")
}

// node returns the node that an entity's row names by handle or, where that is unknown, by name; where neither is
// known, that of the process's entities without a node.
func (l *Loader) node(process trace.ProcessKey, handle trace.Address, name string, life Life) *Node {
	if handle != 0 {
		if n := l.nodesAt[Place{process, handle}].overlapping(life); n != nil {
			return n
		}
	}
	key := nodeName{process, name}
	if name != "" {
		if n := l.nodesNamed()[key].overlapping(life); n != nil {
			return n
		}
	}
	if l.unknownNodes[key] == nil {
		n := &Node{Process: process, Name: name}
		l.unknownNodes[key] = n
		l.result.Nodes = append(l.result.Nodes, n)
	}
	return l.unknownNodes[key]
}

// nodesNamed finds the nodes that the table has by their names. Of several the first one that was told of is found: it
// is the last one here.
func (l *Loader) nodesNamed() map[nodeName]*Residents[*Node] {
	if l.nodesByName == nil {
		l.nodesByName = make(map[nodeName]*Residents[*Node])
		for _, n := range slices.Backward(l.result.Nodes[:len(l.nodes.rows)]) {
			addResident(l.nodesByName, nodeName{n.Process, n.Name}, n.Life, n)
		}
		arrange(l.nodesByName)
	}
	return l.nodesByName
}

func (l *Loader) buildGroups() {
	for i := range l.groups.rows {
		row := &l.groups.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		g := &CallbackGroup{Type: row.GroupTypeName, Address: row.CallbackGroup, Life: life, Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life)}
		if g.Executor = l.executorsAt[Place{row.ProcessKey, row.Executor}].overlapping(life); g.Executor != nil {
			g.Executor.Groups = append(g.Executor.Groups, g)
		}
		g.Node.CallbackGroups = append(g.Node.CallbackGroups, g)
		l.groupsAt.Add(row.ProcessKey, row.CallbackGroup, life, g)
	}
	l.groupsAt.Arrange()
}

func (l *Loader) buildPublishers() {
	for i := range l.publishers.rows {
		row := &l.publishers.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		p := &Publisher{
			Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life), TopicName: row.TopicName, MessageType: row.MessageType,
			Handle: row.PublisherHandle, RMWHandle: row.RMWPublisherHandle, GID: row.GID, Life: life,
		}
		p.Node.Publishers = append(p.Node.Publishers, p)
		l.result.index.Publishers.Add(row.ProcessKey, p.Handle, life, p)
	}
}

// buildSubscriptions makes one subscription of the rows of its objects.
func (l *Loader) buildSubscriptions() {
	subscriptions := make(map[Place]*disjointLives[*Subscription])
	for i := range l.subscriptions.rows {
		row := &l.subscriptions.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		at := Place{row.ProcessKey, row.SubscriptionHandle}
		known := subscriptions[at]
		if known == nil {
			known = new(disjointLives[*Subscription])
			subscriptions[at] = known
		}
		s := known.overlapping(life)
		if s == nil {
			s = &Subscription{
				Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life), TopicName: row.TopicName, MessageType: row.MessageType,
				Handle: row.SubscriptionHandle, RMWHandle: row.RMWSubscriptionHandle, Life: life,
			}
			s.Node.Subscriptions = append(s.Node.Subscriptions, s)
			if s.Handle != 0 {
				known.add(life, s)
			}
			l.result.index.Subscriptions.Add(row.ProcessKey, s.Handle, life, s)
		}
		s.TopicName = cmp.Or(s.TopicName, row.TopicName)
		s.MessageType = cmp.Or(s.MessageType, row.MessageType)
		if row.Buffer != 0 {
			s.Buffer = row.Buffer
			l.result.index.Buffers.Add(row.ProcessKey, row.Buffer, life, s)
		}
		if row.Callback != 0 {
			l.addSubscriptionCallback(s, row, life)
		}
	}
}

func (l *Loader) addSubscriptionCallback(s *Subscription, row *trace.Subscription, life Life) {
	c := s.Callback
	if c == nil {
		c = &Callback{Node: s.Node, Kind: trace.KindSubscription, TopicName: s.TopicName, Subscription: s, Life: life}
		s.Callback = c
		s.Node.Callbacks = append(s.Node.Callbacks, c)
	}
	if row.IsIntraProcess.Value {
		c.IntraProcessAddress = row.Callback
	} else {
		c.Address = row.Callback
	}
	l.describeCallback(c, row.ProcessKey, row.Callback, row.CallbackGroup)
}

// describeCallback completes a callback by what the table callback_info and its owner's row say of its address.
func (l *Loader) describeCallback(c *Callback, process trace.ProcessKey, address, group trace.Address) {
	l.result.index.Callbacks.Add(process, address, c.Life, c)
	infos := l.infosAt[Place{process, address}]
	if i := infos.overlappingAt(c.Life); i >= 0 {
		of := infos.Entity(i)
		info := &l.callbacks.rows[of]
		l.described[of] = true
		c.Symbol = cmp.Or(c.Symbol, info.Symbol)
		group = cmp.Or(group, info.CallbackGroup)
	}
	if c.Group == nil {
		if c.Group = l.groupsAt[Place{process, group}].overlapping(c.Life); c.Group != nil {
			c.Group.Callbacks = append(c.Group.Callbacks, c)
		}
	}
}

func (l *Loader) buildTimers() {
	for i := range l.timers.rows {
		row := &l.timers.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		t := &Timer{Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life), Handle: row.TimerHandle, Period: row.Period, Life: life}
		t.Node.Timers = append(t.Node.Timers, t)
		if row.Callback != 0 {
			t.Callback = &Callback{Node: t.Node, Kind: trace.KindTimer, Address: row.Callback, Period: row.Period, Life: life}
			t.Node.Callbacks = append(t.Node.Callbacks, t.Callback)
			l.describeCallback(t.Callback, row.ProcessKey, row.Callback, row.CallbackGroup)
		}
	}
}

func (l *Loader) buildServices() {
	for i := range l.services.rows {
		row := &l.services.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		s := &Service{
			Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life), ServiceName: row.ServiceName, ServiceType: row.ServiceType,
			Handle: row.ServiceHandle, Life: life,
		}
		s.Node.Services = append(s.Node.Services, s)
		if row.Callback != 0 {
			s.Callback = &Callback{Node: s.Node, Kind: trace.KindService, Address: row.Callback, ServiceName: row.ServiceName, Life: life}
			s.Node.Callbacks = append(s.Node.Callbacks, s.Callback)
			l.describeCallback(s.Callback, row.ProcessKey, row.Callback, row.CallbackGroup)
		}
	}
	for i := range l.clients.rows {
		row := &l.clients.rows[i]
		life := Life{row.InitTimestamp, row.EndTimestamp}
		c := &Client{
			Node: l.node(row.ProcessKey, row.NodeHandle, row.NodeName, life), ServiceName: row.ServiceName, ServiceType: row.ServiceType,
			Handle: row.ClientHandle, GID: row.GID, Life: life,
		}
		c.Node.Clients = append(c.Node.Clients, c)
	}
}

// buildOtherCallbacks makes the callbacks whose owners are unknown.
func (l *Loader) buildOtherCallbacks() {
	for i := range l.callbacks.rows {
		row := &l.callbacks.rows[i]
		if l.described[int32(i)] {
			continue
		}
		life := Life{row.InitTimestamp, row.EndTimestamp}
		c := &Callback{Node: l.node(row.ProcessKey, 0, row.NodeName, life), Kind: row.Kind, Address: row.Callback, Period: row.Period, Life: life}
		switch row.Kind {
		case trace.KindIntraProcessSubscription:
			c.Kind, c.Address, c.IntraProcessAddress = trace.KindSubscription, 0, row.Callback
			c.TopicName = row.TopicName
		case trace.KindService:
			c.ServiceName = row.TopicName
		default:
			c.TopicName = row.TopicName
		}
		c.Node.Callbacks = append(c.Node.Callbacks, c)
		l.describeCallback(c, row.ProcessKey, row.Callback, row.CallbackGroup)
	}
}
