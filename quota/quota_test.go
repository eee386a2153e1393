package quota

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const victim = 1000

// TestWhatOthersLeave: whatever n other users do, in whatever order, a user gets one part in 2^(n+1) of everything.
func TestWhatOthersLeave(t *testing.T) {
	const total = 1 << 20
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 13))
		q := New(Totals{total, total, total, total, total, total, total, total, total, total})
		others := random.IntN(6)
		kind := Kind(random.IntN(int(kinds)))
		held := map[uint32]int64{}
		for step := range 200 {
			if others == 0 {
				break
			}
			user := uint32(random.IntN(others))
			amount := random.Int64N(total>>random.IntN(20) + 1)
			switch {
			case random.IntN(4) > 0 || held[user] == 0:
				if q.Of(user).Take(kind, amount) == nil {
					held[user] += amount
				}
			default:
				amount = random.Int64N(held[user] + 1)
				q.Of(user).Give(kind, amount)
				held[user] -= amount
			}
			sum := int64(0)
			for _, amount := range held {
				sum += amount
			}
			if sum > total || sum != q.used[kind] {
				t.Fatalf("seed %d, step %d: %d of %d are used, %d were given", seed, step, q.used[kind], total, sum)
			}
		}
		rest := int64(total >> (others + 1))
		for part := rest; part > 0; part-- {
			size := min(part, random.Int64N(part)+1)
			if err := q.Of(victim).Take(kind, size); err != nil {
				t.Fatalf("seed %d: after %d others: %v with %d of %d left to ask for", seed, others, err, part, rest)
			}
			part -= size - 1
		}
	}
}

func TestOneUserAlone(t *testing.T) {
	q := New(Totals{Files: 100})
	account := q.Of(victim)
	for i := range 50 {
		if err := account.Take(Files, 1); err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
	}
	if err := account.Take(Files, 1); !errors.Is(err, ErrUsedUp) {
		t.Errorf("%v", err)
	}
	if err := account.Take(Files, 1<<62); !errors.Is(err, ErrUsedUp) {
		t.Errorf("%v", err)
	}
	want := []Refusal{{victim, Files, 2}}
	if got := q.Refusals(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	account.Give(Files, 10)
	if err := account.Take(Files, 10); err != nil {
		t.Error(err)
	}
}

// TestWorkIsForgotten: a recording that goes on for months has work for everybody, as long as nobody asks for too much
// at a time.
func TestWorkIsForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	q := newAt(Totals{Work: 1000}, func() time.Time { return now })
	account := q.Of(victim)
	if err := account.Take(Work, 500); err != nil {
		t.Fatal(err)
	}
	if err := account.Take(Work, 1); !errors.Is(err, ErrUsedUp) {
		t.Fatalf("%v", err)
	}
	now = now.Add(drainTime / 10)
	if err := account.Take(Work, 100); err != nil {
		t.Error(err)
	}
	if err := account.Take(Work, 10); !errors.Is(err, ErrUsedUp) {
		t.Errorf("%v", err)
	}
	now = now.Add(time.Hour)
	if err := account.Take(Work, 500); err != nil {
		t.Error(err)
	}
}

func TestLeast(t *testing.T) {
	q := New(Totals{Work: 1000})
	for user, work := range map[uint32]int64{1: 30, 2: 10, 3: 20} {
		if err := q.Of(user).Take(Work, work); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		users []uint32
		want  int
	}{{nil, -1}, {[]uint32{1}, 0}, {[]uint32{1, 2, 3}, 1}, {[]uint32{1, 3}, 1}, {[]uint32{2, 4, 5}, 1}} {
		if got := q.Least(test.users); got != test.want {
			t.Errorf("%v: %d, not %d", test.users, got, test.want)
		}
	}
}

func TestTheProgramItselfIsNotBounded(t *testing.T) {
	var none *Account
	if err := none.Take(Memory, 1<<62); err != nil {
		t.Error(err)
	}
	none.Give(Memory, 1<<62)
	if From(t.Context()) != nil {
		t.Error("somebody pays for a context of nobody")
	}
	if account := New(Totals{}).Of(victim); From(account.With(t.Context())) != account {
		t.Error("the account does not come back")
	}
}

// TestGivingBackNothing: who has taken nothing, as a process that was gone before anything was known of it, gives
// nothing back.
func TestGivingBackNothing(t *testing.T) {
	q := New(Totals{Entities: 10})
	q.Of(1).Give(Entities, 0)
	if err := q.Of(2).Take(Entities, 3); err != nil {
		t.Errorf("%v", err)
	}
}

// Who spends what nobody could foresee leaves the others as much as who is refused it.
func TestSpending(t *testing.T) {
	q := New(Totals{Waiting: 1000})
	attacker := q.Of(1)
	for range 100 {
		attacker.Spend(Waiting, 300)
	}
	if err := attacker.Take(Waiting, 1); !errors.Is(err, ErrUsedUp) {
		t.Errorf("%v", err)
	}
	if err := q.Of(victim).Take(Waiting, 200); err != nil {
		t.Error(err)
	}
}

// Memory that is no longer kept is used until it is collected, which is done before anybody is refused.
func TestGarbageIsUsedUntilItIsCollected(t *testing.T) {
	q := New(Totals{Memory: 100})
	collected := 0
	q.collect = func() { collected++ }
	user, other := q.Of(1), q.Of(2)
	take := func(account *Account, amount int64, wantErr error, wantCollected int) {
		t.Helper()
		if err := account.Take(Memory, amount); !errors.Is(err, wantErr) || collected != wantCollected {
			t.Errorf("%v after %d collections, want %v after %d", err, collected, wantErr, wantCollected)
		}
	}
	take(user, 40, nil, 0)
	take(user, 20, ErrUsedUp, 0) // there is nothing to be collected
	user.Discard(30)
	take(user, 5, nil, 0) // there is enough
	take(user, 20, nil, 1)
	take(user, 20, ErrUsedUp, 1)
	user.Discard(35)
	take(other, 40, nil, 2) // who needs it has it collected, whosever it was
	take(other, 40, ErrUsedUp, 2)
}

// What need not be kept is let go of before its user is refused memory, and only then.
func TestWhatNeedNotBeKept(t *testing.T) {
	q := New(Totals{Memory: 100, Files: 2})
	q.collect = func() {}
	user, other := q.Of(1), q.Of(2)
	if err := user.Take(Memory, 40); err != nil {
		t.Fatal(err)
	}
	asked := 0
	stop := user.WhenShort(func() {
		asked++
		user.Discard(30)
	})
	for _, c := range []struct {
		name    string
		account *Account
		kind    Kind
		amount  int64
		wantErr error
		asked   int
	}{
		{"there is enough", user, Memory, 5, nil, 0},
		{"another user is short", other, Memory, 50, ErrUsedUp, 0},
		{"something else is short", user, Files, 2, ErrUsedUp, 0},
		{"memory is short", user, Memory, 20, nil, 1},
	} {
		if err := c.account.Take(c.kind, c.amount); !errors.Is(err, c.wantErr) || asked != c.asked {
			t.Errorf("%s: %v, asked %d times", c.name, err, asked)
		}
	}
	stop()
	if err := user.Take(Memory, 40); !errors.Is(err, ErrUsedUp) || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	(*Account)(nil).WhenShort(nil)() // the program itself is never short
}
