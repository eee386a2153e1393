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

// countingTime is how long hits are counted.
const countingTime = 300 * time.Millisecond

// hitsPerCallback counts how often sites are hit for a callback.
func hitsPerCallback(p *program, sites []probes.Site) (hits float64, err error) {
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		return 0, fmt.Errorf("count the runs of programs: %w", err)
	}
	defer counting.Close()
	e, err := attachEmpty(p.pid(), sites)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	before, err := e.program.Stats()
	if err != nil {
		return 0, err
	}
	callbacks := p.meter.read().callbacks
	time.Sleep(countingTime)
	after, err := e.program.Stats()
	if err != nil {
		return 0, err
	}
	return float64(after.RunCount-before.RunCount) / float64(max(p.meter.read().callbacks-callbacks, 1)), nil
}

// countHits notes how often each way is hit.
func countHits(r *results, load workload, p *program, plans *plans) error {
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
