package probes

import (
	"context"
	"sync"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// Cache keeps the callers that were found in files: libraries are shared by processes, and a process is looked at again
// whenever it maps something. It may be used by several goroutines. The nil Cache keeps nothing.
type Cache struct {
	mu      sync.Mutex
	callers map[cacheKey]elffile.Callers
}

// cacheKey names a content of a file. Overlay mounts show one file under several devices, so its FileID is in it; a
// file that was written since has another time.
type cacheKey struct {
	file  target.FileID
	times target.FileTimes
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{callers: make(map[cacheKey]elffile.Callers)} }

// callersIn returns the callers of tracepoints in each of the files, several of which are read at a time. What cannot
// be read is uncertain.
func (c *Cache) callersIn(ctx context.Context, files []file) []elffile.Callers {
	if c == nil {
		c = NewCache()
	}
	result := make([]elffile.Callers, len(files))
	elffile.Each(len(files), func(i int) { result[i] = c.callersInFile(ctx, files[i]) })
	return result
}

func (c *Cache) callersInFile(ctx context.Context, f file) elffile.Callers {
	if f.openErr != nil {
		return unreadable(f.openErr)
	}
	key := cacheKey{f.id, f.opened.Times()}
	c.mu.Lock()
	found, known := c.callers[key]
	c.mu.Unlock()
	if known {
		return found
	}
	found, err := f.callers(ctx)
	if err != nil {
		return unreadable(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callers[key] = found
	return found
}

// callers searches the file.
func (f file) callers(ctx context.Context) (elffile.Callers, error) {
	opened, err := f.elf(ctx)
	if err != nil {
		return elffile.Callers{}, err
	}
	defer opened.Close()
	found, err := opened.CallersOf(tracepointFunctions())
	if err != nil {
		return elffile.Callers{}, err
	}
	return found, f.opened.Unchanged()
}

// unreadable says of every tracepoint that the file may call it.
func unreadable(err error) elffile.Callers {
	uncertain := make(map[string]string)
	for _, function := range tracepointFunctions() {
		uncertain[function] = err.Error()
	}
	return elffile.Callers{Uncertain: uncertain}
}
