package view

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// entities give numbers to what answers name. They are those of one query's architecture; those of other queries to the
// same datasets have the same numbers.
type entities struct {
	processes map[trace.ProcessKey]int
	threads   map[analyze.Thread]int
	nodes     map[*system.Node]int
	callbacks map[*system.Callback]int32
	topics    map[string]int
	// named finds nodes and callbacks by what rows of tables have.
	namedNodes     map[nodeName]int
	namedCallbacks map[callbackName]int32
	// started finds processes by what losses have of them, ofTID threads by what loads have. Several hosts may share a
	// thread's numbers: then it is unknown which it is.
	started map[processStart]int
	ofTID   map[[2]int32]int
}

// processStart tells processes of one machine apart.
type processStart struct {
	pid   int32
	start int64
}

type nodeName struct {
	pid  int32
	name string
}

type callbackName struct {
	nodeName
	callback string
}

// newEntities numbers them: nodes and callbacks in the order of the architecture, topics by name, processes and threads
// by their keys.
func newEntities(a *system.Architecture, threads []analyze.Thread) *entities {
	e := &entities{
		processes: make(map[trace.ProcessKey]int), threads: make(map[analyze.Thread]int), nodes: make(map[*system.Node]int),
		callbacks: make(map[*system.Callback]int32), topics: make(map[string]int),
		namedNodes: make(map[nodeName]int), namedCallbacks: make(map[callbackName]int32),
		started: make(map[processStart]int), ofTID: make(map[[2]int32]int),
	}
	for i, p := range processesOf(a, threads) {
		e.processes[p] = i
		addFirst(e.started, processStart{p.PID, p.ProcessStart}, i)
	}
	for i, t := range threads {
		e.threads[t] = i
		of := [2]int32{t.Process.PID, t.TID}
		if _, shared := e.ofTID[of]; shared {
			i = unknown
		}
		e.ofTID[of] = i
	}
	for i, name := range a.NamesOf((*system.Node).TopicNames) {
		e.topics[name] = i
	}
	for _, n := range a.Nodes {
		e.nodes[n] = len(e.nodes)
		name := nodeName{n.Process.PID, n.Name}
		addFirst(e.namedNodes, name, e.nodes[n])
		for _, c := range n.Callbacks {
			e.callbacks[c] = int32(len(e.callbacks))
			addFirst(e.namedCallbacks, callbackName{name, c.Name}, e.callbacks[c])
		}
	}
	return e
}

// addFirst keeps the first of several of one name.
func addFirst[K comparable, V any](to map[K]V, key K, value V) {
	if _, known := to[key]; !known {
		to[key] = value
	}
}

// callback returns the number of a callback, unknown for one that no table of entities has.
func (e *entities) callback(c *system.Callback) int32 {
	if id, known := e.callbacks[c]; known {
		return id
	}
	return unknown
}

// topic returns the number of a topic, unknown for one that no table of entities has.
func (e *entities) topic(name string) int {
	if id, known := e.topics[name]; known {
		return id
	}
	return unknown
}

// unknown takes the place of a number of what no table of entities has.
const unknown = -1

// processesOf are the processes that an architecture knows and those of the threads, in the order of their keys.
func processesOf(a *system.Architecture, threads []analyze.Thread) []trace.ProcessKey {
	var keys []trace.ProcessKey
	for _, p := range a.Processes {
		keys = append(keys, p.ProcessKey)
	}
	for _, n := range a.Nodes {
		keys = append(keys, n.Process)
	}
	for _, t := range threads {
		keys = append(keys, t.Process)
	}
	slices.SortFunc(keys, system.CompareProcesses)
	return slices.Compact(keys)
}
