package trace

import "reflect"

// Batch holds rows of any tables. Its fields are the list of all tables, in the order in which they are documented and
// summarized: a field's type has the table's row type, its tag the table's name, which is also its
// folder. Whatever handles every table goes through it.
type Batch struct {
	Callbacks              Rows[Callback]              `table:"callback"`
	OpenCallbacks          Rows[OpenCallback]          `table:"open_callback"`
	Publishes              Rows[Publish]               `table:"publish"`
	Takes                  Rows[Take]                  `table:"take"`
	Enqueues               Rows[Enqueue]               `table:"enqueue"`
	Services               Rows[Service]               `table:"service"`
	Lifecycles             Rows[Lifecycle]             `table:"lifecycle"`
	SimTimes               Rows[SimTime]               `table:"sim_time"`
	Waits                  Rows[Wait]                  `table:"wait"`
	Scheds                 Rows[Sched]                 `table:"sched"`
	Events                 Rows[Event]                 `table:"event"`
	Nodes                  Rows[Node]                  `table:"node"`
	Publishers             Rows[Publisher]             `table:"publisher"`
	Subscriptions          Rows[Subscription]          `table:"subscription"`
	Timers                 Rows[Timer]                 `table:"timer"`
	ServiceServers         Rows[ServiceServer]         `table:"service_server"`
	Clients                Rows[Client]                `table:"client"`
	CallbackInfos          Rows[CallbackInfo]          `table:"callback_info"`
	CallbackGroups         Rows[CallbackGroup]         `table:"callback_group"`
	Executors              Rows[Executor]              `table:"executor"`
	Contexts               Rows[Context]               `table:"context"`
	LifecycleStateMachines Rows[LifecycleStateMachine] `table:"lifecycle_state_machine"`
	Processes              Rows[Process]               `table:"process"`
	Losses                 Rows[Loss]                  `table:"loss"`
	Clocks                 Rows[Clock]                 `table:"clock"`
	Attributes             Rows[Attribute]             `table:"attribute"`
}

// The tables' names, for Scan and the like. A test compares them with the tags.
const (
	TableCallback              = "callback"
	TableOpenCallback          = "open_callback"
	TablePublish               = "publish"
	TableTake                  = "take"
	TableEnqueue               = "enqueue"
	TableService               = "service"
	TableLifecycle             = "lifecycle"
	TableSimTime               = "sim_time"
	TableWait                  = "wait"
	TableSched                 = "sched"
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
	TableAttribute             = "attribute"
)

// registry has the tables in the order of Batch's fields.
var registry = newRegistry()

func newRegistry() []*Table {
	var tables []*Table
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Batch]()) {
		tables = append(tables, newTable(field))
	}
	return tables
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
func TableOf[T any]() *Table {
	row := reflect.TypeFor[T]()
	for _, table := range registry {
		if table.row == row {
			return table
		}
	}
	panic("trace: " + row.String() + " is in no table") // it is no field of Batch
}
