package trace

import "reflect"

// The tables' names, which are also their folders.
const (
	TableCallback              = "callback"
	TablePublish               = "publish"
	TableTake                  = "take"
	TableEnqueue               = "enqueue"
	TableService               = "service"
	TableLifecycle             = "lifecycle"
	TableSimTime               = "sim_time"
	TableEvent                 = "event"
	TableNode                  = "node"
	TablePublisher             = "publisher"
	TableSubscription          = "subscription"
	TableTimer                 = "timer"
	TableServiceServer         = "service_server"
	TableClient                = "client"
	TableCallbackInfo          = "callback_info"
	TableCallbackGroup         = "callback_group"
	TableExecutor              = "executor"
	TableContext               = "context"
	TableLifecycleStateMachine = "lifecycle_state_machine"
	TableProcess               = "process"
	TableLoss                  = "loss"
	TableClock                 = "clock"
)

// Row is any of the tables' row types.
type Row interface {
	Callback | Publish | Take | Enqueue | Service | Lifecycle | SimTime | Event |
		Node | Publisher | Subscription | Timer | ServiceServer | Client | CallbackInfo | CallbackGroup | Executor | Context |
		LifecycleStateMachine | Process | Loss | Clock
}

// registry has the tables in the order in which they are documented and summarized.
var registry = []*Table{
	newTable[Callback](TableCallback),
	newTable[Publish](TablePublish),
	newTable[Take](TableTake),
	newTable[Enqueue](TableEnqueue),
	newTable[Service](TableService),
	newTable[Lifecycle](TableLifecycle),
	newTable[SimTime](TableSimTime),
	newTable[Event](TableEvent),
	newTable[Node](TableNode),
	newTable[Publisher](TablePublisher),
	newTable[Subscription](TableSubscription),
	newTable[Timer](TableTimer),
	newTable[ServiceServer](TableServiceServer),
	newTable[Client](TableClient),
	newTable[CallbackInfo](TableCallbackInfo),
	newTable[CallbackGroup](TableCallbackGroup),
	newTable[Executor](TableExecutor),
	newTable[Context](TableContext),
	newTable[LifecycleStateMachine](TableLifecycleStateMachine),
	newTable[Process](TableProcess),
	newTable[Loss](TableLoss),
	newTable[Clock](TableClock),
}

// Registry returns all tables that a dataset can have.
func Registry() []*Table {
	return registry
}

// TableByName returns the table of that name, or nil.
func TableByName(name string) *Table {
	for _, table := range registry {
		if table.Name == name {
			return table
		}
	}
	return nil
}

// TableOf returns the table whose row type is T.
func TableOf[T Row]() *Table {
	row := reflect.TypeFor[T]()
	for _, table := range registry {
		if table.row == row {
			return table
		}
	}
	panic("trace: " + row.String() + " is in no table") // a row type was added to Row but not to registry
}
