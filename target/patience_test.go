package target

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// learnPath learns what the file at a path says.
func learnPath(t *testing.T, f *Finder, path string) learnedFile {
	t.Helper()
	handle, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	return f.learnFile(t.Context(), handle, path, trust)
}

// Whoever waits for a process that keeps its map locked can be told to wait no longer.
func TestNobodyWaitsLongerThanHeWants(t *testing.T) {
	holder, _ := fuse.KeepMap(t)
	for kept := false; !kept; time.Sleep(10 * time.Millisecond) {
		process, err := NewFinder().Inspect(t.Context(), int32(holder))
		if kept = errors.Is(err, ErrNotShown); err == nil {
			process.Close()
		}
	}
	for name, look := range map[string]func(ctx context.Context) error{
		"one process": func(ctx context.Context) error { _, err := NewFinder().Inspect(ctx, int32(holder)); return err },
		"those of a name": func(ctx context.Context) error {
			_, err := NewFinder().ByName(ctx, regexp.MustCompile("no process has this name"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), showPatience/10)
			defer cancel()
			if err := look(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A process that keeps its map locked is given up after a while, and not asked for again as long as it does.
func TestProcessesThatKeepTheirMap(t *testing.T) {
	holder, release := fuse.KeepMap(t)
	finder := NewFinder()
	pid := int32(holder)
	for kept := false; !kept; time.Sleep(10 * time.Millisecond) {
		process, err := finder.Inspect(t.Context(), pid)
		switch {
		case err == nil:
			process.Close() // it does not yet
		case errors.Is(err, ErrNotShown):
			kept = true
		default:
			t.Fatal(err)
		}
	}
	// Only the first question is waited for.
	for range 100 {
		if _, err := finder.Inspect(t.Context(), pid); !errors.Is(err, ErrNotShown) {
			t.Fatalf("while the map is kept: %v", err)
		}
	}
	if _, err := finder.All(t.Context()); !errors.Is(err, ErrNotShown) {
		t.Errorf("among all processes: %v", err)
	}
	release()
	for finder.waits() {
		time.Sleep(10 * time.Millisecond)
	}
	// The page never came: that ends the process, before long.
	for {
		process, err := finder.Inspect(t.Context(), pid)
		if errors.Is(err, ErrNoProcess) {
			return
		}
		if err != nil {
			t.Fatalf("afterwards: %v", err)
		}
		process.Close()
		time.Sleep(10 * time.Millisecond)
	}
}

func (f *Finder) waits() bool {
	_, users := f.unshown.has(0)
	return len(users) > 0
}
