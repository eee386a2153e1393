package entities

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// The mangled names of rclcpp's executors.
const (
	executorName             = "N6rclcpp8ExecutorE"
	singleThreadedName       = "N6rclcpp9executors22SingleThreadedExecutorE"
	multiThreadedName        = "N6rclcpp9executors21MultiThreadedExecutorE"
	staticSingleThreadedName = "N6rclcpp9executors28StaticSingleThreadedExecutorE"
	eventsExecutorName       = "N6rclcpp12experimental9executors14EventsExecutorE"
	contextName              = "N6rclcpp7ContextE"
	maxThreads               = 1 << 16
)

var executorNames = map[string]string{
	singleThreadedName:       singleThreadedExecutor,
	multiThreadedName:        multiThreadedExecutor,
	staticSingleThreadedName: staticSingleThreadedExecutor,
	eventsExecutorName:       eventsExecutor,
}

// executorAt reads an rclcpp::Executor. Its destructor leaves it an object of the base class, which no executor is.
func (r reader) executorAt(address trace.Address) (trace.Executor, error) {
	layout, err := r.readable()
	if err != nil {
		return trace.Executor{}, err
	}
	return newSurvey(reader{r.view, layout}).executorAt(address)
}

// executorAt reads an rclcpp::Executor, given the address of the whole object or of that part.
func (s *survey) executorAt(address trace.Address) (trace.Executor, error) {
	found, object, err := s.classes.of(address)
	if err != nil {
		return trace.Executor{}, err
	}
	part, ok := found.find(executorName)
	if !ok || found.bases[0].name == executorName || object+trace.Address(part.offset) != address {
		return trace.Executor{}, fmt.Errorf("%v is no executor: %w", address, errImplausible)
	}
	layout := s.layout.Executor
	context, err := s.sharedPointer(address + trace.Address(layout.Context))
	if err != nil {
		return trace.Executor{}, err
	}
	if class, _, err := s.classes.of(context.object); err != nil || !s.lives(context) {
		return trace.Executor{}, fmt.Errorf("the executor at %v has no context: %w", address, errImplausible)
	} else if _, ok := class.find(contextName); !ok {
		return trace.Executor{}, fmt.Errorf("the executor at %v has no context: %w", address, errImplausible)
	}
	row := trace.Executor{Executor: address, ExecutorType: executorNames[found.bases[0].name], Provenance: trace.FromMemory}
	if row.ExecutorType == "" {
		row.ExecutorType = typeSymbol(found.bases[0].name)
	}
	if _, ok := found.find(multiThreadedName); ok {
		threads, err := s.word(address + trace.Address(layout.Threads))
		if err != nil || threads == 0 || threads > maxThreads {
			return trace.Executor{}, fmt.Errorf("the executor at %v has %d threads: %w", address, threads, errImplausible)
		}
		row.ThreadCount = trace.Some(threads)
	}
	row.EntitiesCollector = s.collectorOf(address, found)
	return row, nil
}

// collectorOf returns the object that collects an executor's entities, 0 if the executor does.
func (s *survey) collectorOf(address trace.Address, found *class) trace.Address {
	layout := s.layout.Executor
	member := uint64(0)
	if _, ok := found.find(staticSingleThreadedName); ok {
		member = layout.StaticCollector
	} else if _, ok := found.find(eventsExecutorName); ok {
		member = layout.EventsCollector
	}
	if member != 0 {
		collector, err := s.pointer(address + trace.Address(member))
		if err != nil {
			return 0
		}
		return collector
	}
	if layout.Collector != 0 {
		return address + trace.Address(layout.Collector)
	}
	return 0
}

// groupsOf returns the callback groups of an executor that exist.
func (s *survey) groupsOf(row trace.Executor) ([]trace.Address, error) {
	layout := s.layout.Executor
	var trees []trace.Address
	static := layout.StaticCollector != 0 && row.EntitiesCollector != 0 && s.isStatic(row.Executor)
	switch {
	case static:
		for _, member := range layout.StaticCollectorGroups {
			trees = append(trees, row.EntitiesCollector+trace.Address(member))
		}
	case row.EntitiesCollector != 0:
		for _, member := range layout.CollectorGroups {
			trees = append(trees, row.EntitiesCollector+trace.Address(member))
		}
	default:
		trees = []trace.Address{row.Executor + trace.Address(layout.Groups)}
	}
	var groups []trace.Address
	for _, tree := range trees {
		keys, err := s.treeKeys(tree)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if s.lives(key) {
				groups = append(groups, key.object)
			}
		}
	}
	return groups, nil
}

func (s *survey) isStatic(executor trace.Address) bool {
	found, _, err := s.classes.of(executor)
	if err != nil {
		return false
	}
	_, ok := found.find(staticSingleThreadedName)
	return ok
}
