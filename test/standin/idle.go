package standin

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// StartIdle starts processes that map a library with all that it needs, and do nothing, until they are ended.
func StartIdle(tb testing.TB, library string, count int) (end func(), pids []string) {
	tb.Helper()
	var all []*exec.Cmd
	end = func() {
		for _, one := range all {
			_ = one.Process.Kill()
			_ = one.Wait()
		}
		all = nil
	}
	tb.Cleanup(end)
	for range count {
		one := exec.Command("sleep", "1000")
		one.Env = append(os.Environ(), "LD_PRELOAD="+library)
		if err := one.Start(); err != nil {
			tb.Fatal(err)
		}
		all = append(all, one)
		pids = append(pids, fmt.Sprint(one.Process.Pid))
	}
	return end, pids
}
