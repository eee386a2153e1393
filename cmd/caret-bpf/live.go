package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// livePatience is how long what was recorded of late is kept for nobody.
	livePatience = 30 * time.Second
	// maxWindows bounds how many kinds of requests are served at a time: each keeps what it needs.
	maxWindows = 4
	// These bound how much time a request can be about.
	defaultLiveSpan = 10 * time.Second
	minLiveSpan     = time.Second
	maxLiveSpan     = 5 * time.Minute
)

// liveWindows keep what a recording has of late for those who ask. While nobody does, they keep when timers were made.
type liveWindows struct {
	timers live.Timers
	asked  atomic.Bool // there is a window

	mu  sync.Mutex
	all []*askedWindow
}

// askedWindow is for all who ask for the same.
type askedWindow struct {
	request string
	paths   int       // how many it follows
	last    time.Time // when somebody asked
	*live.Window
}

// look passes rows on to those who wait for them.
func (w *liveWindows) look(b *trace.Batch) {
	w.timers.Look(b)
	if !w.asked.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropAbandoned()
	for _, of := range w.all {
		of.Look(b)
	}
}

func (w *liveWindows) dropAbandoned() {
	w.all = slices.DeleteFunc(w.all, func(of *askedWindow) bool { return time.Since(of.last) > livePatience })
	w.asked.Store(len(w.all) > 0)
}

// window is for a request, kept from the first one on. now is the present on the dataset's clock.
func (w *liveWindows) window(asked control.LiveRequest, now int64) (*live.Window, error) {
	span := time.Duration(asked.SpanNs)
	if span == 0 {
		span = defaultLiveSpan
	}
	if span < minLiveSpan || span > maxLiveSpan {
		return nil, fmt.Errorf("%w: the span is from %v to %v", control.ErrRequest, minLiveSpan, maxLiveSpan)
	}
	paths, err := live.ParsePaths(asked.Paths)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", control.ErrRequest, err)
	}
	key := fmt.Sprintf("%d %s", span, strings.Join(asked.Paths, "\n"))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropAbandoned()
	for _, of := range w.all {
		if of.request == key {
			of.last = time.Now()
			return of.Window, nil
		}
	}
	if len(w.all) >= maxWindows {
		return nil, fmt.Errorf("%w: others ask for %d other spans and paths already", control.ErrRequest, maxWindows)
	}
	followed := len(paths)
	for _, of := range w.all {
		followed += of.paths
	}
	if followed > live.MaxPaths {
		return nil, fmt.Errorf("%w: at most %d paths are followed, and others ask for some already", control.ErrRequest, live.MaxPaths)
	}
	of := &askedWindow{request: key, paths: len(paths), last: time.Now(), Window: live.NewWindow(span, now, &w.timers, paths)}
	w.all = append(w.all, of)
	w.asked.Store(true)
	return of.Window, nil
}

// Live tells what there was of late.
func (r *controlled) Live(_ context.Context, asked control.LiveRequest) (live.Snapshot, error) {
	h, err := r.armed()
	if err != nil {
		return live.Snapshot{}, err
	}
	now := h.Now()
	window, err := r.windows.window(asked, now)
	if err != nil {
		return live.Snapshot{}, err
	}
	return window.Snapshot(now), nil
}
