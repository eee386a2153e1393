package selfexec_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// What has to be closed everywhere waits for helpers that are being begun, and not for each other.
func TestCloseEverywhereWaitsForHelpers(t *testing.T) {
	failure := errors.New("not closed")
	var isRunning atomic.Bool
	runs := selfexec.Begin()
	closed := make(chan error)
	for range 2 {
		go func() {
			closed <- selfexec.CloseEverywhere(func() error {
				if !isRunning.Load() {
					t.Error("it was closed while a helper was begun")
				}
				return failure
			})
		}()
	}
	time.Sleep(10 * time.Millisecond) // time for a mistake
	isRunning.Store(true)
	runs()
	for range 2 {
		if err := <-closed; !errors.Is(err, failure) {
			t.Error(err)
		}
	}
	err := selfexec.CloseEverywhere(func() error {
		beside := make(chan error)
		go func() { beside <- selfexec.CloseEverywhere(func() error { return nil }) }()
		return <-beside
	})
	if err != nil {
		t.Error(err)
	}
}
