package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// emptyProbes is a program that does nothing, attached to sites.
type emptyProbes struct {
	program *ebpf.Program
	links   []link.Link
}

// attachEmpty attaches an empty program to sites of a process: no recorder with probes there can add less.
func attachEmpty(pid int32, sites []probes.Site) (*emptyProbes, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "empty", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "Dual MIT/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, fmt.Errorf("an empty program: %w", err)
	}
	e := &emptyProbes{program: program}
	offsets := map[string][]uint64{}
	for _, s := range sites {
		offsets[s.Path] = append(offsets[s.Path], s.Offset)
	}
	for path, addresses := range offsets {
		executable, err := link.OpenExecutable(path)
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		attached, err := executable.UprobeMulti(nil, program, &link.UprobeMultiOptions{Addresses: addresses, PID: uint32(pid)})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("attach an empty program to %s: %w", path, err), e.close())
		}
		e.links = append(e.links, attached)
	}
	return e, nil
}

func (e *emptyProbes) close() error {
	var problems []error
	for _, l := range e.links {
		problems = append(problems, l.Close())
	}
	return errors.Join(append(problems, e.program.Close())...)
}

const (
	// countingTime is how long hits are counted.
	countingTime = 300 * time.Millisecond
	// meterInterval is how often it is looked whether the program has counted on.
	meterInterval = 50 * time.Microsecond
)

// hitsPerCallback counts how often sites are hit for a callback.
func hitsPerCallback(p *busy.Program, sites []probes.Site) (hits float64, err error) {
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return 0, fmt.Errorf("count the runs of programs: %w", err)
	}
	defer counting.Close()
	e, err := attachEmpty(p.PID(), sites)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	callbacks, before, err := countRuns(p, e)
	if err != nil {
		return 0, err
	}
	time.Sleep(countingTime)
	callbacksAfter, after, err := countRuns(p, e)
	if err != nil {
		return 0, err
	}
	return float64(after-before) / float64(max(callbacksAfter-callbacks, 1)), nil
}

// countRuns counts callbacks and hits when the program has just said how many callbacks there were.
func countRuns(p *busy.Program, e *emptyProbes) (callbacks, hits uint64, err error) {
	last := p.Meter.Read().Callbacks
	for deadline := time.Now().Add(busy.Patience); p.Meter.Read().Callbacks == last; time.Sleep(meterInterval) {
		if time.Now().After(deadline) {
			return 0, 0, busy.ErrTooFew
		}
	}
	stats, err := e.program.Stats()
	if err != nil {
		return 0, 0, err
	}
	return p.Meter.Read().Callbacks, stats.RunCount, nil
}

// countHits notes how often each way is hit.
func countHits(r *results, load busy.Workload, p *busy.Program, plans *plans) error {
	for _, w := range r.ways {
		if w.sites == nil {
			continue
		}
		hits, err := hitsPerCallback(p, w.sites(plans))
		if err != nil {
			return err
		}
		r.hits[w.name][load] = hits
	}
	return nil
}
