package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

func TestEntitiesComeAndGo(t *testing.T) {
	for _, flags := range []string{"", "--intra-process --threads 2"} {
		t.Run(flags, func(t *testing.T) {
			forEach(t, func(t *testing.T, config Config) {
				truth := run(t, config, "--recreate-rate 20 "+flags)
				finis := make(map[groundtruth.EntityKind]int)
				for _, fini := range truth.EntityFinis {
					finis[fini.Kind]++
				}
				addresses := make(map[groundtruth.EntityKind]map[uint64]int)
				reused := 0
				for _, init := range truth.EntityInits {
					if addresses[init.Kind] == nil {
						addresses[init.Kind] = make(map[uint64]int)
					}
					addresses[init.Kind][init.Handle]++
					reused = max(reused, addresses[init.Kind][init.Handle])
				}
				for kind := range addresses {
					if finis[kind] < 3 {
						t.Errorf("%d ends of a %s", finis[kind], kind)
					}
				}
				if len(addresses) != 6 || reused < 3 {
					t.Errorf("%d kinds of entities, one address used %d times", len(addresses), reused)
				}
			})
		})
	}
}
