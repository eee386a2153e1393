package trace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// isFree reports whether nobody has any of the memory.
func (b *memoryBudget) isFree() bool {
	all := b.free.TryAcquire(b.size)
	if all {
		b.free.Release(b.size)
	}
	return all
}

// TestMemoryIsWaitedFor has three who want memory; the second wants more than is left, the third does not overtake it.
func TestMemoryIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBudget(10)
		var order []string
		giveBack := map[string]func(){}
		ask := func(name string, bytes int64) {
			go func() {
				done, err := b.take(t.Context(), bytes)
				if err != nil {
					t.Error(err)
				}
				order, giveBack[name] = append(order, name), done
			}()
			synctest.Wait()
		}
		ask("first", 4)
		ask("second", 100) // all that there is
		ask("third", 1)
		if !slices.Equal(order, []string{"first"}) {
			t.Errorf("%v have memory", order)
		}
		giveBack["first"]()
		synctest.Wait()
		if !slices.Equal(order, []string{"first", "second"}) {
			t.Errorf("%v have memory", order)
		}
		giveBack["second"]()
		synctest.Wait()
		giveBack["third"]()
		if len(order) != 3 || !b.isFree() {
			t.Errorf("%v had memory, not all is free again", order)
		}
	})
}

// TestNobodyWaitsForMemoryAnyMore: who gives up takes nothing, and whoever waited behind goes on.
func TestNobodyWaitsForMemoryAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBudget(10)
		giveBack, _ := b.take(t.Context(), 5)
		ctx, cancel := context.WithCancel(t.Context())
		var gaveUp error
		var behind func()
		go func() { _, gaveUp = b.take(ctx, 6) }()
		synctest.Wait()
		go func() { behind, _ = b.take(t.Context(), 5) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(gaveUp, context.Canceled) || behind == nil {
			t.Fatalf("error %v", gaveUp)
		}
		behind()
		giveBack()
		if !b.isFree() {
			t.Error("not all is free again")
		}
	})
}

// TestReadersShareMemory reads all row groups of a table at once, in all ways, where there is memory for one.
func TestReadersShareMemory(t *testing.T) {
	before := reading
	defer func() { reading = before }()
	reading = newMemoryBudget(1)
	d := &Dataset{dir: t.TempDir(), as: asProgram}
	rows := make(Rows[Clock], 1000)
	writeGroups(t, d.dir, &rows, 20)
	groups, err := Groups(t.Context(), d, TableClock)
	if err != nil || len(groups) != 20 {
		t.Fatal(len(groups), err)
	}
	var readers sync.WaitGroup
	for _, g := range groups {
		readers.Go(func() {
			read := 0
			errs := errors.Join(
				ScanGroup(t.Context(), TableClock, g, nil, func(rows []Clock) error { read += len(rows); return nil }),
				ScanTimes(t.Context(), g, "realtime_timestamp", func(times []int64) error { read += len(times); return nil }),
				Scan(t.Context(), d, TableClock, func(rows []Clock) error { read += len(rows); return nil }),
			)
			if want := 2*len(rows) + 20*len(rows); errs != nil || read != want {
				t.Errorf("%d rows were read, want %d: %v", read, want, errs)
			}
		})
	}
	readers.Wait()
	if !reading.isFree() {
		t.Error("not all is free again")
	}
}
