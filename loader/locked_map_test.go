package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/fuse"
)

// A process that is not recorded maps the library and keeps its memory map locked. The recording goes on and says so.
func TestAttachingBesideALockedMap(t *testing.T) {
	requireRoot(t)
	library := buildLibrary(t, "libtracepoints.so")
	fuse.Repeat(t, func() error {
		target := startTargetWith(t, library)
		sites := target.callbackSites(library)
		told := make(chan error, 8)
		r := newRecording(t, way{options: Options{Tell: func(err error) { told <- err }}})
		holder := fuse.LockMap(t, library, 65534)
		attachment := r.attach(target.pid, sites...)
		target.callbacks(100, 1)
		r.expectHits(target.pid, 100)
		closeAttachment(t, attachment)
		if err := r.loader.Detach(); err != nil { // everything was told then
			t.Error(err)
		}
		close(told)
		if err := <-told; err == nil || !strings.Contains(err.Error(), fmt.Sprintf("PID %d ", holder)) {
			return fmt.Errorf("of PID %d nothing is told: %v", holder, err)
		}
		return nil
	})
}
