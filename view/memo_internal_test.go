package view

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A value is made once; what failed is made anew.
func TestMemo(t *testing.T) {
	m := newMemo[int](0)
	calls := 0
	failing := errors.New("failing")
	for i, want := range []struct {
		value int
		err   error
	}{{0, failing}, {2, nil}, {2, nil}} {
		got, err := m.get(t.Context(), func(context.Context) (int, error) {
			calls++
			if calls == 1 {
				return 0, failing
			}
			return calls, nil
		})
		if got != want.value || !errors.Is(err, want.err) {
			t.Errorf("answer %d is %d, %v", i, got, err)
		}
	}
}

// What nobody waits for ends after a while, and not before; who comes back in time gets it.
func TestMemoOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemo[int](10 * time.Second)
		calls, ended := 0, 0
		make := func(ctx context.Context) (int, error) {
			calls++
			select {
			case <-time.After(30 * time.Second):
				return calls, nil
			case <-ctx.Done():
				ended++
				return 0, ctx.Err()
			}
		}
		wait := func(d time.Duration) (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return m.get(ctx, make)
		}
		if _, err := wait(5 * time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after 5 seconds: %v", err)
		}
		time.Sleep(5 * time.Second)
		if got, err := wait(time.Minute); got != 1 || err != nil || calls != 1 {
			t.Errorf("who came back got %d, %v after %d calls", got, err, calls)
		}
		m = newMemo[int](10 * time.Second)
		_, _ = wait(time.Second)
		time.Sleep(15 * time.Second)
		if got, err := wait(time.Minute); ended != 1 || got != 3 || err != nil {
			t.Errorf("who came too late got %d, %v, %d ended", got, err, ended)
		}
	})
}

// A warning that came while a value was made is told to all who ask for it.
func TestMemoTellsWarnings(t *testing.T) {
	m := newMemo[int](0)
	for range 2 {
		ctx, found := warningIn(t.Context())
		_, err := m.get(ctx, func(ctx context.Context) (int, error) {
			warn(ctx, []string{"damaged"})
			return 1, nil
		})
		if list := found.list(); err != nil || len(list) != 1 || list[0] != "damaged" {
			t.Errorf("%v, %v", list, err)
		}
	}
}
