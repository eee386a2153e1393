package probes

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// cxxRuntime shows exceptions being caught. Its soname is not that of the one that compilers link programs with.
var cxxRuntime = fixture{"libstdc++.so.5", "void *__cxa_begin_catch(void *exception) { return exception; }\n"}

// TestExceptionsInPlaceOfSteps: where exceptions are seen being caught the executor's steps are not probed, unless they
// carry something.
func TestExceptionsInPlaceOfSteps(t *testing.T) {
	humble := []fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwCyclone, cycloneDDS}
	jazzy := []fixture{tracetools("jazzy"), rclOfJazzy, rclcpp("jazzy"), rmwCyclone, cycloneDDS}
	for name, test := range map[string]struct {
		libraries []fixture
		options   Options
		want      []abi.Event
		optional  bool // the step
	}{
		"humble":                           {append(humble, cxxRuntime), Options{}, []abi.Event{abi.EventExecutorExecute, abi.EventExceptionCaught}, true},
		"humble minimal":                   {append(humble, cxxRuntime), Options{Profile: ProfileMinimal}, []abi.Event{abi.EventExceptionCaught}, false},
		"jazzy":                            {append(jazzy, cxxRuntime), Options{}, []abi.Event{abi.EventExceptionCaught}, false},
		"jazzy with steps":                 {append(jazzy, cxxRuntime), Options{Steps: true}, []abi.Event{abi.EventExecutorExecute, abi.EventExceptionCaught}, false},
		"jazzy linked statically":          {jazzy, Options{}, []abi.Event{abi.EventExecutorExecute}, false},
		"jazzy without rclcpp's":           {append(jazzy[:2:2], rmwCyclone, cycloneDDS, cxxRuntime), Options{}, []abi.Event{abi.EventExceptionCaught}, false},
		"humble minimal linked statically": {humble, Options{Profile: ProfileMinimal}, []abi.Event{abi.EventExecutorExecute}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.libraries...)
			plan, err := NewPlan(t.Context(), p.process, test.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []abi.Event
			for _, site := range plan.Sites {
				if site.Event == abi.EventExecutorExecute || site.Event == abi.EventExceptionCaught {
					got = append(got, site.Event)
				}
				if site.Event == abi.EventExecutorExecute && site.Optional != test.optional || site.Event == abi.EventExceptionCaught && site.Optional {
					t.Errorf("%s is optional: %v", site.Event, site.Optional)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("sites of %v, want %v", got, test.want)
			}
			for _, missing := range plan.Missing {
				if missing.Event == abi.EventExceptionCaught || missing.Event == abi.EventExecutorExecute && test.options.Profile != ProfileMinimal {
					t.Errorf("%+v", missing)
				}
			}
		})
	}
}
