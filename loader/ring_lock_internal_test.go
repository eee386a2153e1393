package loader

import (
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestRingLockSleeps(t *testing.T) {
	one := func(name string, of btf.Type) []btf.Member { return []btf.Member{{Name: name, Type: of}} }
	raw := &btf.Typedef{Name: "raw_spinlock_t", Type: &btf.Struct{Name: "raw_spinlock"}}
	mutex := &btf.Struct{Name: "rt_mutex_base"}
	for name, test := range map[string]struct {
		lock  btf.Type
		sleep bool
	}{
		"a raw one":             {raw, false},
		"one of another kernel": {&btf.Struct{Name: "rqspinlock"}, false},
		"one that spins":        {&btf.Typedef{Name: "spinlock_t", Type: &btf.Struct{Name: "spinlock", Members: one("", &btf.Union{})}}, false},
		"one of PREEMPT_RT":     {&btf.Typedef{Name: "spinlock_t", Type: &btf.Struct{Name: "spinlock", Members: one("lock", mutex)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			ring := &btf.Struct{Name: "bpf_ringbuf", Members: append(one("mask", &btf.Int{Name: "long", Size: 8}), one("spinlock", test.lock)...)}
			if got := ringLockSleeps(ring); got != test.sleep {
				t.Errorf("it sleeps: %t", got)
			}
		})
	}
}

func TestRingLockOfThisKernel(t *testing.T) {
	requireRoot(t)
	if err := checkRingLock(); err != nil {
		t.Error(err)
	}
}
