package loader

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKernelWait: whoever waits is woken by what can be read, by end, whether it comes before or meanwhile, and by the
// time. One that is not woken waits for an hour.
func TestKernelWait(t *testing.T) {
	for name, wake := range map[string]func(*kernelWait, *os.File){
		"something can be read": func(_ *kernelWait, to *os.File) { _, _ = to.WriteString("x") },
		"it is to end":          func(w *kernelWait, _ *os.File) { w.end() },
		"it is closed":          func(w *kernelWait, _ *os.File) { _ = w.close() },
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []bool{true, false} {
				from, to, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer from.Close()
				defer to.Close()
				readable := func() bool {
					of := []unix.PollFd{{Fd: int32(from.Fd()), Events: unix.POLLIN}}
					count, _ := unix.Poll(of, 0)
					return count > 0
				}
				w, err := newKernelWait(int(from.Fd()), readable)
				if err != nil {
					t.Fatal(err)
				}
				w.until(time.Now().Add(time.Millisecond)) // nothing has come, or what came was told of
				waited := make(chan struct{})
				if before {
					wake(w, to)
					time.Sleep(10 * time.Millisecond) // so that the poller has seen it, and not told
				}
				go func() {
					w.until(time.Now().Add(time.Hour))
					close(waited)
				}()
				if !before {
					time.Sleep(10 * time.Millisecond)
					wake(w, to)
				}
				<-waited
				_ = w.close() // it may be closed
			}
		})
	}
}
