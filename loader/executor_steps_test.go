package loader

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// TestStepsOfNestedExecutors: what Humble's StaticSingleThreadedExecutor takes from a buffer shows only when the
// callback begins, so it is looked for where an executor shows no steps. A callback may spin another executor, which
// does.
func TestStepsOfNestedExecutors(t *testing.T) {
	requireRoot(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("the objects have the layout of amd64")
	}
	const (
		step, innerStep      = "nested 1 executed 20 30 0", "nested 3 executed 20 30 0"
		outerStart, outerEnd = "nested 2 ros_trace_callback_start 2000 0 0", "nested 2 ros_trace_callback_end 2000 0 0"
		innerStart, innerEnd = "nested 4 ros_trace_callback_start 3000 0 0", "nested 4 ros_trace_callback_end 3000 0 0"
		outer, inner, thread = "nested 2", "nested 4", "thread"
	)
	for name, test := range map[string]struct {
		before []string
		own    string // how its callback begins
		fed    bool
	}{
		"nothing is known of the executor":        {nil, outer, false},
		"it has run nothing on a new thread":      {nil, thread, true},
		"it has run nothing within":               {[]string{step, outerStart}, inner, true},
		"it shows no steps":                       {[]string{outerStart, outerEnd}, outer, true},
		"it shows steps":                          {[]string{step, outerStart, outerEnd}, outer, false},
		"an executor within shows steps":          {[]string{outerStart, innerStep, innerStart, innerEnd, outerEnd}, outer, true},
		"an executor within shows none":           {[]string{step, outerStart, innerStart, innerEnd}, inner, true},
		"the outer one does then":                 {[]string{step, outerStart, innerStart, innerEnd, outerEnd}, outer, false},
		"two within, and the second shows none":   {[]string{step, outerStart, innerStep, innerStart, innerEnd, outerEnd, outerStart, innerStart, innerEnd}, inner, true},
		"of the outer one only the end was seen":  {[]string{innerStep, innerStart, innerEnd, outerEnd}, outer, true},
		"an exception has left the one that spun": {[]string{step, outerStart, innerStart, step, outerStart, outerEnd}, outer, false},
	} {
		t.Run(name, func(t *testing.T) {
			library := buildLibrary(t, "libfaults.so")
			c := startTargetWith(t, library)
			ways := ways()
			ways[0].require(t)
			r := newRecording(t, ways[0])
			var offset uint64
			if err := r.loader.collection.Variables[bpf.CaretVarIntraCallbackOffset].Get(&offset); err != nil {
				t.Fatal(err)
			}
			r.attach(c.pid, slices.Concat(
				c.callbackSites(library), c.enqueueSites(library), []probes.Site{c.site(library, "executed", abi.EventExecutorExecute)},
			)...)
			c.do("map 7e0000000000 2000")
			ring := ringScript()
			own := fmt.Sprintf("%x", firstPage+offset)
			for _, line := range slices.Concat(ring[:len(ring)-1], []string{"call entered 10 0 0", ringTrigger}, test.before, []string{
				fmt.Sprintf("%s ros_trace_callback_start %s 1 0", test.own, own), fmt.Sprintf("%s ros_trace_callback_end %s 0 0", test.own, own),
			}) {
				c.do(line)
			}
			r.drain()
			found := false
			for _, encoded := range r.records {
				var callback abi.CallbackRecord
				if abi.Kind(encoded[0]) != abi.KindCallback {
					continue
				}
				if err := abi.Decode(encoded, &callback); err != nil {
					t.Fatal(err)
				}
				if callback.Callback != firstPage+offset || callback.StartNs == 0 {
					continue
				}
				found = true
				if fed := callback.Header.Flags&abi.FlagFedByDequeue != 0; fed != test.fed {
					t.Errorf("fed by a dequeue: %v", fed)
				}
			}
			if !found {
				t.Error("the callback has no record")
			}
		})
	}
}
