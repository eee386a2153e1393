package writer

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestFewBytesWaitForTheDisk finishes segments of a size that it makes up while the disk does nothing, and then has the
// disk go on.
func TestFewBytesWaitForTheDisk(t *testing.T) {
	for _, test := range []struct {
		bytes int64
		wait  int // so many are let through while the disk does nothing
	}{
		{1 << 20, 16}, {6 << 20, 2}, {16 << 20, 1}, {64 << 20, 1}, {1, commitLength},
	} {
		t.Run(fmt.Sprint(test.bytes), func(t *testing.T) {
			dir, err := createDirectory(filepath.Join(t.TempDir(), "dataset"), 0, newPermissions(0))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dir.close() }()
			table := trace.Registry()[0]
			s := segments{table: table, dir: dir, counters: new(counters), now: func() int64 { return 0 }}
			if err := s.openFolder(); err != nil {
				t.Fatal(err)
			}
			defer s.closeFolder()
			const count = commitLength + 8
			synctest.Test(t, func(t *testing.T) {
				commits := make(chan commitment, commitLength)
				e := &encoder{commits: commits, waiting: newBacklog()}
				go func() {
					defer close(commits)
					for range count {
						file, err := dir.createFile(s.temporary())
						if err != nil {
							t.Error(err)
							return
						}
						e.commit(s.handOver(file, 1, test.bytes))
					}
				}()
				synctest.Wait()
				if len(commits) != test.wait {
					t.Errorf("%d segments wait for the disk, not %d", len(commits), test.wait)
				}
				commitAll(dir, commits, newRetained(dir, Options{}, func() int64 { return 0 }), e.waiting, func(err error) { t.Error(err) })
				if stored := s.counters.stored.Load(); stored != count || e.waiting.bytes != 0 {
					t.Errorf("%d of %d segments were stored, %d bytes still wait", stored, count, e.waiting.bytes)
				}
			})
		})
	}
}
