package probes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// Cache keeps what was found in files: libraries are shared by processes, and a process is looked at again whenever it
// maps something. It is for plans with the same options, and may be used by several goroutines. The nil Cache keeps
// nothing.
type Cache struct {
	mu      sync.Mutex
	callers map[cacheKey]elffile.Callers
	sources map[sourcesKey][]foundSource
}

// sourcesKey names the sources that lie in a content of a file, which has that name.
type sourcesKey struct {
	cacheKey
	soname      string
	distro      distros.Distro
	shadowStack bool
}

// cacheKey names a content of a file. Overlay mounts show one file under several devices, so its FileID is in it; a
// file that was written since has another time.
type cacheKey struct {
	file  target.FileID
	times target.FileTimes
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{callers: make(map[cacheKey]elffile.Callers), sources: make(map[sourcesKey][]foundSource)}
}

// maxCached bounds the files of which something is kept, in a recording that goes on for months while programs are
// built anew.
const maxCached = 1 << 14

// sourcesIn returns the sources in a file, by search if they are not known. What the search has found is kept if the
// file could be read and was not written meanwhile.
func (c *Cache) sourcesIn(ctx context.Context, p *Plan, f file, search func() []foundSource) []foundSource {
	if c == nil || f.openErr != nil {
		return search()
	}
	key := sourcesKey{cacheKey{f.id, f.opened.Times()}, f.soname, p.Distro, p.shadowStack}
	if found, known := lookUp(c, c.sources, key); known {
		return found
	}
	found := search()
	if ctx.Err() != nil || slices.ContainsFunc(found, foundSource.isUnread) || f.opened.Unchanged() != nil {
		return found
	}
	keep(c, c.sources, key, found)
	return found
}

// lookUp returns what a map of the cache has for a key.
func lookUp[K comparable, V any](c *Cache, kept map[K]V, key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := kept[key]
	return found, known
}

// keep puts something into a map of the cache, which it empties when it is full.
func keep[K comparable, V any](c *Cache, kept map[K]V, key K, found V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(kept) >= maxCached {
		clear(kept)
	}
	kept[key] = found
}

// isUnread reports whether the file could not be read, or was not read to its end, as opposed to not having the source.
func (s foundSource) isUnread() bool {
	var errno syscall.Errno
	return errors.As(s.err, &errno) || errors.Is(s.err, ErrRefused)
}

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
	if found, known := lookUp(c, c.callers, key); known {
		return found
	}
	found, err := f.callers(ctx)
	if err != nil {
		return unreadable(err)
	}
	keep(c, c.callers, key, found)
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
	if refused := opened.Refused(); refused != nil {
		err = refused // what is said to be uncertain may not be so for who can pay
	}
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
