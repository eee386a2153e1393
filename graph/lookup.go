package graph

import "github.com/caret-bpf/caret-bpf/trace"

func (g *Graph) Service(handle trace.Address, time int64) (*trace.ServiceServer, bool) {
	return nil, false
}
func (g *Graph) Client(handle trace.Address, time int64) (*trace.Client, bool) { return nil, false }
func (g *Graph) StateMachine(handle trace.Address, time int64) (*trace.LifecycleStateMachine, bool) {
	return nil, false
}

const (
	RmwPublisherInit                  EventID = 46
	ConstructExecutor                 EventID = 37
	ExecutorEntityCollectorToExecutor EventID = 45
)
