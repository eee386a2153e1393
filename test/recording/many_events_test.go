package recording

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestManyEvents has a program execute a known number of callbacks, each with a publish, as fast as it can, beside a
// ring buffer that is far too small: the rows and the losses that are counted are that number, of both.
func TestManyEvents(t *testing.T) {
	requireRecording(t)
	callbacks := often(100_000, 25_000_000) // four events each: both ends of the callback, two layers of the publish
	for _, distro := range standin.Distros() {
		t.Run(distro, func(t *testing.T) {
			folder := standin.Directory(t, distro, false)
			t.Setenv("LD_LIBRARY_PATH", folder)
			t.Setenv("RMW_IMPLEMENTATION", standin.CycloneDDS)
			command := []string{filepath.Join(folder, "busy"), filepath.Join(t.TempDir(), "meter"), "publish", strconv.Itoa(callbacks)}
			began := time.Now()
			r := record(t, session.Configuration{Command: command, BufferBytes: 4096})
			if err := r.waitForEnd(); err != nil {
				t.Fatal(err)
			}
			d, err := trace.Open(r.dir)
			if err != nil {
				t.Fatal(err)
			}
			lost := totals(d.Session().Losses)
			for table, kind := range map[string]trace.LossKind{trace.TableCallback: trace.LostCallback, trace.TablePublish: trace.LostPublish} {
				rows, err := trace.Count(t.Context(), d, table)
				if err != nil || rows+lost[kind] != uint64(callbacks) || lost[kind] == 0 {
					t.Errorf("%s: %d rows and %d lost are not %d, %v", table, rows, lost[kind], callbacks, err)
				}
				t.Logf("%s: %d rows, %d lost, in %v", table, rows, lost[kind], time.Since(began).Round(time.Second))
			}
		})
	}
}
