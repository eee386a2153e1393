// Package osthread runs functions on threads of their own, for what a thread changes of itself and cannot take back:
// its user, its capabilities, its table of descriptors.
package osthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Go starts a function on a thread that ends with it. The runtime makes no other thread out of that one, so none has
// what the function changes. It is never the main thread.
func Go(f func()) { go run(f) }

func run(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return // a goroutine that ends while it is locked takes its thread with it
	}
	// The main thread cannot end, and what /proc tells of this process is what it tells of that thread. While it is locked
	// to this goroutine another one runs on another thread.
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}
