package analyze

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// recordedProcesses numbers the processes of all datasets from 1. It is safe for concurrent use.
type recordedProcesses struct {
	mu      sync.Mutex
	numbers map[recordedProcess]int32
}

type recordedProcess struct {
	dataset int
	process trace.ProcessKey
}

func (p *recordedProcesses) number(dataset int, key trace.ProcessKey) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.numbers == nil {
		p.numbers = make(map[recordedProcess]int32)
	}
	of := recordedProcess{dataset, key}
	if p.numbers[of] == 0 {
		p.numbers[of] = int32(len(p.numbers) + 1)
	}
	return p.numbers[of]
}
