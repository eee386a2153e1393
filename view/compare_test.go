package view_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
)

// Each compared latency is that of a callback or of a row of communications, by their names.
func TestComparisonTellsWhatItIsOf(t *testing.T) {
	d := systemDataset(t, 3000)
	v := open(t, view.Options{Datasets: []*trace.Dataset{d}, Baseline: []*trace.Dataset{d}})
	compared := ask[struct {
		Latencies                 []struct{ Kind, Name string }
		Callbacks, Communications []*int
	}](t, v, "compare")
	recorded := ask[recording](t, v, "recording")
	communications := ask[struct {
		Columns []string
		Rows    [][]any
	}](t, v, "communications")
	topic := slices.Index(communications.Columns, "topic_name")
	kinds := make(map[string]int)
	for i, l := range compared.Latencies {
		kinds[l.Kind]++
		var name string
		switch callback, row := compared.Callbacks[i], compared.Communications[i]; {
		case l.Kind == "callback" && callback != nil && row == nil:
			name = recorded.Nodes[recorded.Callbacks[*callback].Node].Name
		case l.Kind == "communication" && callback == nil && row != nil:
			name = communications.Rows[*row][topic].(string)
		}
		if name == "" || !strings.HasPrefix(l.Name, name+" ") {
			t.Errorf("%s %s is of %q", l.Kind, l.Name, name)
		}
	}
	if kinds["callback"] == 0 || kinds["communication"] == 0 {
		t.Errorf("%v", kinds)
	}
}
