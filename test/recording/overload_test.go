package recording

import (
	"maps"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestOverloadIsAccountedFor lets nodes run as fast as they can, with a ring buffer that is far too small: what is not
// in the dataset must be in the loss table, kind by kind and to the last one.
func TestOverloadIsAccountedFor(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		for name, flags := range map[string]string{
			"inter":  "--nodes 2 --topics 2 --threads 3 --rate 0 --polled-rate 1000 --service-rate 1000",
			"remade": "--nodes 2 --topics 2 --threads 3 --rate 0 --recreate-rate 200",
			"intra":  "--nodes 2 --topics 2 --threads 2 --rate 0 --intra-process --outside-rate 1000",
		} {
			t.Run(name, func(t *testing.T) {
				if name != "inter" {
					requireLong(t)
				}
				if name == "remade" && l.rmw == standin.FastDDS {
					t.Skip("Fast DDS 2.9 ends the program when readers and writers of one process go at once")
				}
				n, r := recordFromTheBeginning(t, l, session.Configuration{BufferBytes: 4096}, flags)
				r.waitFor("losses", func(s session.Status) bool { return s.Lost >= enough && s.Rows[trace.TableCallback] >= enough })
				truth, data := n.stop(), r.wait()
				r.requireExact(data, truth, oracle.Circumstances{Unnamed: true})
				lost := data.Lost()
				if total := totals(data.Session.Losses); !maps.Equal(total, lost) {
					t.Errorf("session.json says %v, the loss table %v", total, lost)
				}
			})
		}
	})
}

func totals(losses []trace.LossTotal) map[trace.LossKind]uint64 {
	sum := map[trace.LossKind]uint64{}
	for _, loss := range losses {
		sum[loss.Kind] += loss.Count
	}
	return sum
}
