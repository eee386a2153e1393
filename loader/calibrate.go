package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Calibrate measures what hits of sites cost on this machine: on a child process, which is this program once more (see
// CalibrationArgument), with the programs and the way to attach of a recording. It takes about a second, longer where
// stepping through instructions is slow.
func Calibrate(ctx context.Context) (*probes.Costs, error) {
	loader, err := New(ctx, Options{})
	if err != nil {
		return nil, err
	}
	// Records that nobody reads would make the programs slow.
	reading := make(chan error, 1)
	go func() {
		reading <- loader.Read(context.WithoutCancel(ctx), func([][]byte) error { return nil }, time.Second)
	}()
	costs, err := loader.calibrate(ctx)
	if err := errors.Join(err, loader.Detach(), loader.Flush(), <-reading, loader.Close()); err != nil {
		return nil, fmt.Errorf("calibrating: %w", err)
	}
	return costs, nil
}

func (l *Loader) calibrate(ctx context.Context) (_ *probes.Costs, err error) {
	child, err := startCalibrated(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, child.stop()) }()
	sites, err := calibrationSites()
	if err != nil {
		return nil, err
	}
	untraced, err := child.measure(measureStubs)
	if err != nil {
		return nil, err
	}
	_, problems, err := l.attach(ctx, int32(child.command.Process.Pid), sites, holdOwnFile)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems[0]
	}
	// While the gate is closed programs return at once.
	traced, err := child.measure(measureStubs)
	if err != nil {
		return nil, err
	}
	unrecorded, err := child.measure(measureCallbacks)
	if err != nil {
		return nil, err
	}
	if _, _, err := l.OpenGate(); err != nil {
		return nil, err
	}
	recorded, err := child.measure(measureCallbacks)
	if err != nil {
		return nil, err
	}
	return costsOf(untraced, traced, recorded[callback]-unrecorded[callback]), nil
}

// costsOf compares the timings of a process that is not probed with those of one whose hits do nothing. added is what
// recording a callback adds to its two hits.
func costsOf(untraced, traced timings, added time.Duration) *probes.Costs {
	costs := &probes.Costs{Instructions: make(map[string]time.Duration), Measured: true, Program: max(added/2, 0)}
	for kind, duration := range traced {
		if kind != endNop {
			costs.Instructions[kind] = max(duration-untraced[kind], 1)
		}
	}
	return costs
}

// calibrationSites are the first instructions of the functions that the child runs. A callback begins at one nop and
// ends at the other; the other sites stand for an event that is of no consequence.
func calibrationSites() ([]probes.Site, error) {
	mappings, err := executableMappings(int32(os.Getpid()))
	if err != nil {
		return nil, err
	}
	var addresses [len(stubKinds)]uintptr
	stubAddresses(&addresses)
	var sites []probes.Site
	for i, kind := range stubKinds {
		address := uint64(addresses[i])
		in := slices.IndexFunc(mappings, func(m mapping) bool { return m.start <= address && address < m.end })
		if in < 0 {
			return nil, errors.New("the recorder's own text is not mapped from a file")
		}
		site := probes.Site{
			Event: abi.EventExecutorExecute, Symbol: kind, Path: ownFilePath, Offset: address - mappings[in].start + mappings[in].offset,
		}
		switch kind {
		case startNop:
			site.Event = abi.EventCallbackStart
		case endNop:
			site.Event = abi.EventCallbackEnd
		}
		sites = append(sites, site)
	}
	return sites, nil
}

const ownFilePath = "/proc/self/exe"

// ownFile is the recorder's program, which it executes: nobody can write it meanwhile.
type ownFile struct{ *os.File }

func holdOwnFile(probes.Site) (*probedFile, error) {
	file, err := os.Open(ownFilePath)
	if err != nil {
		return nil, err
	}
	return newProbedFile(ownFile{file}, func(context.Context) (prover, error) { return ownStubs{}, nil })
}

func (f ownFile) KernelPath() string { return ownFilePath }
func (f ownFile) Unchanged() error   { return nil }
func (f ownFile) Hold() error        { return nil }
func (f ownFile) Release()           { _ = f.Close() }

// ownStubs proves the sites of calibrationSites: where the functions begin is what the linker has put into this very
// program.
type ownStubs struct{}

func (ownStubs) Prove(probes.Site) error { return nil }

// Close does nothing.
func (ownStubs) Close() error { return nil }

// calibrated is the child process.
type calibrated struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

func startCalibrated(ctx context.Context) (*calibrated, error) {
	command := exec.CommandContext(ctx, "/proc/self/exe", CalibrationArgument)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting a process to measure: %w", err)
	}
	return &calibrated{command, in, json.NewDecoder(out)}, nil
}

func (c *calibrated) measure(what string) (result timings, err error) {
	if _, err = io.WriteString(c.in, what+"\n"); err == nil {
		err = c.out.Decode(&result)
	}
	if err != nil {
		return timings{}, fmt.Errorf("measuring: %w", err)
	}
	return result, nil
}

func (c *calibrated) stop() error { return errors.Join(c.in.Close(), c.command.Wait()) }
