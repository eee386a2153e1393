package entities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

// Layouts keeps the layouts of processes by their libraries: on a vehicle hundreds of processes have the same. It may
// be used by several goroutines. The nil Layouts keeps nothing.
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
	key := layoutKey(process)
	l.mutex.Lock()
	known := l.kept[key]
	l.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	layout, whole, err := learnLayoutOf(ctx, process)
	if err != nil || !whole || layoutKey(process) != key {
		return layout, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.kept) >= maxLayouts {
		clear(l.kept)
	}
	l.kept[key] = layout
	return layout, nil
}

// layoutKey names the contents of all files that a layout depends on. A file that was written since has other times.
func layoutKey(process *target.Process) string {
	key := fmt.Appendf(nil, "%s", process.Distro.Like())
	libraries := layouts.AccessorLibraries()
	for i, module := range process.Modules {
		if i != 0 && !slices.Contains(libraries, module.Soname) {
			continue
		}
		opened, err := module.Opened()
		if err != nil {
			key = fmt.Appendf(key, " %d unread", i)
			continue
		}
		key = fmt.Appendf(key, " %s %v %v %v", module.Soname, module.File, opened.Times(), opened.Unchanged() == nil)
	}
	return string(key)
}

// LayoutOf returns the layout of the objects of a process. The error wraps layouts.ErrUnknown when its distribution is
// not known.
func LayoutOf(ctx context.Context, process *target.Process) (*layouts.Layout, error) {
	layout, _, err := learnLayoutOf(ctx, process)
	return layout, err
}

// learnLayoutOf reports as well whether all libraries could be read that teach something.
func learnLayoutOf(ctx context.Context, process *target.Process) (layout *layouts.Layout, whole bool, err error) {
	if len(process.Modules) == 0 {
		return nil, false, fmt.Errorf("process %d has mapped no files: %w", process.PID, layouts.ErrUnknown)
	}
	file, err := process.OpenModule(ctx, process.Modules[0])
	if err != nil {
		return nil, false, fmt.Errorf("read the architecture of process %d: %w", process.PID, err)
	}
	defer file.Close()
	learned, whole := learnLayout(ctx, process)
	layout, err = layouts.For(string(process.Distro.Like()), file.Machine(), learned)
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
