package entities

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

// Layouts keeps the layouts of processes by what they depend on, machine and libraries: on a vehicle hundreds of
// processes have the same. It may be used by several goroutines. The nil Layouts keeps nothing.
type Layouts struct {
	mutex sync.Mutex
	kept  map[string]*layouts.Layout
}

// NewLayouts returns one that has none yet.
func NewLayouts() *Layouts { return &Layouts{kept: map[string]*layouts.Layout{}} }

// maxLayouts bounds them, in a recording that goes on for months while programs are built anew.
const maxLayouts = 1 << 10

// Of is LayoutOf, by what is known of the process's libraries. What was learned of files that could not be read to
// their end, or were written meanwhile, is not kept.
func (l *Layouts) Of(ctx context.Context, process *target.Process) (*layouts.Layout, error) {
	if l == nil {
		return LayoutOf(ctx, process)
	}
	machine, err := machineOf(ctx, process)
	if err != nil {
		return nil, err
	}
	key, settled := layoutKey(process, machine)
	if !settled {
		layout, _, err := learnLayoutOf(ctx, process, machine)
		return layout, err
	}
	l.mutex.Lock()
	known := l.kept[key]
	l.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	layout, whole, err := learnLayoutOf(ctx, process, machine)
	if err != nil || !whole {
		return layout, err
	}
	if _, still := layoutKey(process, machine); !still {
		return layout, nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.kept) >= maxLayouts {
		clear(l.kept)
	}
	l.kept[key] = layout
	return layout, nil
}

// layoutKey names what a layout depends on: the contents of the libraries that teach something, by the times that these
// had when they were opened. settled says that none was written since.
func layoutKey(process *target.Process, machine elf.Machine) (key string, settled bool) {
	text := fmt.Appendf(nil, "%s %v", process.Distro.Like(), machine)
	settled = true
	libraries := layouts.AccessorLibraries()
	for _, module := range process.Modules {
		if !slices.Contains(libraries, module.Soname) {
			continue
		}
		opened, err := module.Opened()
		if err != nil {
			return "", false
		}
		text = fmt.Appendf(text, " %s %v %v", module.Soname, module.File, opened.Times())
		settled = settled && opened.Unchanged() == nil
	}
	return string(text), settled
}

// machineOf is what the process's code is for.
func machineOf(ctx context.Context, process *target.Process) (elf.Machine, error) {
	if len(process.Modules) == 0 {
		return 0, fmt.Errorf("process %d has mapped no files: %w", process.PID, layouts.ErrUnknown)
	}
	file, err := process.OpenModule(ctx, process.Modules[0])
	if err != nil {
		return 0, fmt.Errorf("read the architecture of process %d: %w", process.PID, err)
	}
	defer file.Close()
	return file.Machine(), nil
}

// LayoutOf returns the layout of the objects of a process. The error wraps layouts.ErrUnknown when its distribution is
// not known.
func LayoutOf(ctx context.Context, process *target.Process) (*layouts.Layout, error) {
	machine, err := machineOf(ctx, process)
	if err != nil {
		return nil, err
	}
	layout, _, err := learnLayoutOf(ctx, process, machine)
	return layout, err
}

// learnLayoutOf reports as well whether all libraries could be read that teach something.
func learnLayoutOf(ctx context.Context, process *target.Process, machine elf.Machine) (layout *layouts.Layout, whole bool, err error) {
	learned, whole := learnLayout(ctx, process)
	layout, err = layouts.For(string(process.Distro.Like()), machine, learned)
	return layout, whole, err
}

// learnLayout learns what the accessor functions of the process's own libraries prove. Libraries that cannot be read
// teach nothing.
func learnLayout(ctx context.Context, process *target.Process) (learned layouts.Learned, whole bool) {
	learned, whole = make(layouts.Learned), true
	libraries := layouts.AccessorLibraries()
	for _, module := range process.Modules {
		if !slices.Contains(libraries, module.Soname) {
			continue
		}
		library, err := process.OpenModule(ctx, module)
		if err != nil {
			whole = false
			continue
		}
		maps.Copy(learned, layouts.Learn(module.Soname, library))
		whole = whole && library.Refused() == nil
		_ = library.Close()
	}
	return learned, whole
}
