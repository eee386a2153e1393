package osthread

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests run while the main thread is free, so that goroutines may get it.
func TestMain(m *testing.M) {
	runtime.LockOSThread()
	result := make(chan int)
	go func() { result <- m.Run() }()
	runtime.UnlockOSThread()
	os.Exit(<-result)
}

func TestThreadEndsWithFunction(t *testing.T) {
	var threads sync.Map
	var running sync.WaitGroup
	const functions = 100
	running.Add(functions)
	for range functions {
		Go(func() {
			defer running.Done()
			if tid := unix.Gettid(); tid == os.Getpid() {
				t.Error("it runs on the main thread")
			} else if _, twice := threads.LoadOrStore(tid, true); twice {
				t.Errorf("thread %d runs two functions", tid)
			}
			// Nobody gets the number of a thread that still runs.
			time.Sleep(10 * time.Millisecond)
		})
	}
	running.Wait()
	threads.Range(func(tid, _ any) bool {
		for exists(tid.(int)) {
			time.Sleep(time.Millisecond) // the test's time limit ends this
		}
		return true
	})
}

// What a function changes of its thread no other thread has.
func TestNobodyInheritsWhatAThreadChanges(t *testing.T) {
	const changed = "changed"
	done := make(chan []string)
	Go(func() {
		own := fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid())
		if err := os.WriteFile(own, []byte(changed), 0); err != nil {
			t.Error(err)
		}
		var names []string
		var threads sync.WaitGroup
		var mutex sync.Mutex
		for range 20 { // more threads are needed while these wait
			threads.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				name, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()))
				if err != nil {
					t.Error(err)
				}
				mutex.Lock()
				names = append(names, string(name))
				mutex.Unlock()
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 10e6}, nil)
			})
		}
		threads.Wait()
		done <- names
	})
	for _, name := range <-done {
		if name == changed+"\n" {
			t.Error("a thread has what another one changed of itself")
		}
	}
}

func exists(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}
