package probes

import (
	"sync"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// Cache keeps the callers that were found in files: libraries are shared by processes, and a process is looked at again whenever it
// maps something. It may be used by several goroutines. The nil Cache keeps nothing.
type Cache struct {
	mu      sync.Mutex
	callers map[cacheKey]elffile.Callers
}

// cacheKey names a content of a file. Overlay mounts show one file under several devices, so its FileID is in it; a file that was written
// since has another time.
type cacheKey struct {
	file  target.FileID
	times target.FileTimes
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{callers: make(map[cacheKey]elffile.Callers)} }

// callersIn returns the callers of tracepoints in each of the files, several of which are read at a time. What cannot be read is uncertain.
func (c *Cache) callersIn(files []file) []elffile.Callers {
	if c == nil {
		c = NewCache()
	}
	result := make([]elffile.Callers, len(files))
	elffile.Each(len(files), func(i int) { result[i] = c.callersInFile(files[i]) })
	return result
}

func (c *Cache) callersInFile(f file) elffile.Callers {
	opened, err := f.elf()
	if err != nil {
		return unreadable(err)
	}
	key := cacheKey{f.id, f.opened.Times()}
	c.mu.Lock()
	found, known := c.callers[key]
	c.mu.Unlock()
	if known {
		return found
	}
	if found, err = opened.CallersOf(tracepointFunctions()); err == nil {
		err = f.opened.Unchanged()
	}
	if err != nil {
		return unreadable(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.callers[key] = found
	return found
}

// unreadable says of every tracepoint that the file may call it.
func unreadable(err error) elffile.Callers {
	uncertain := make(map[string]string)
	for _, function := range tracepointFunctions() {
		uncertain[function] = err.Error()
	}
	return elffile.Callers{Uncertain: uncertain}
}
