package standin

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

func TestExecutorsAndTheirGroups(t *testing.T) {
	for flags, want := range map[string]groundtruth.ExecutorType{
		"":                  groundtruth.ExecutorSingleThreaded,
		"--threads 2":       groundtruth.ExecutorMultiThreaded,
		"--static-executor": groundtruth.ExecutorStaticSingleThreaded,
	} {
		t.Run(string(want), func(t *testing.T) {
			forEach(t, func(t *testing.T, config Config) {
				truth := run(t, config, "--nodes 2 --service-rate 10 --intra-process "+flags)
				if len(truth.ConstructExecutors) != 1 || truth.ConstructExecutors[0].Type != want {
					t.Fatalf("executors %+v, want one %s", truth.ConstructExecutors, want)
				}
				checkGroups(t, config, truth)
			})
		})
	}
}

// checkGroups checks that every group came to the executor, once, and every entity to a group.
func checkGroups(t *testing.T, config Config, truth *groundtruth.Truth) {
	t.Helper()
	executor := truth.ConstructExecutors[0]
	byCollector := config.Distro == Jazzy || executor.Type == groundtruth.ExecutorStaticSingleThreaded
	if byCollector != (executor.Collector != 0) {
		t.Errorf("executor %+v", executor)
	}
	added := make(map[uint64]int)
	for _, group := range truth.AddCallbackGroups {
		added[group.Group]++
		if byCollector && group.Collector != executor.Collector || !byCollector && group.Executor != executor.Executor {
			t.Errorf("group %+v came to another executor than %+v", group, executor)
		}
	}
	for _, group := range truth.CallbackGroups {
		if added[group.Group] != 1 {
			t.Errorf("group %+v was added %d times", group, added[group.Group])
		}
	}
	var entities []uint64
	for _, entity := range truth.CallbackGroupAdds {
		entities = append(entities, entity.Handle)
	}
	for what, handle := range map[string]uint64{
		"timer": truth.Timers[0].Timer, "subscription": truth.Subscriptions[0].Subscription,
		"service": truth.Services[0].Service, "client": truth.Clients[0].Client,
	} {
		if !slices.Contains(entities, handle) {
			t.Errorf("the %s %#x came to no group", what, handle)
		}
	}
}

func TestExecutorsOfNestedSpins(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--nested-depth 3 --nested-rate 20")
		if len(truth.ConstructExecutors) < 3 || len(truth.DestroyExecutors) < len(truth.ConstructExecutors)-1 {
			t.Errorf("%d executors constructed, %d destroyed", len(truth.ConstructExecutors), len(truth.DestroyExecutors))
		}
	})
}
