package session

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/target"
)

// TestTurns: whatever the processes of others take, a user's get their part of each round, and what was put off comes
// in the next one.
func TestTurns(t *testing.T) {
	const victim, attacker = 1000, 4242
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 13))
		users := 2 + uint32(random.IntN(3))
		turns := newTurns(roundTime)
		told := 0
		for round := range 20 {
			late := turns.next()
			if round > 0 && len(late) == 0 {
				t.Fatalf("seed %d: nothing was put off", seed)
			}
			for user := range users {
				for pid := int32(1); pid < 1000; pid++ {
					if !turns.has(attacker + user) {
						if turns.postpone(pid, attacker+user) {
							told++
						}
						continue
					}
					turns.spend(attacker+user, time.Duration(random.IntN(100))*time.Millisecond)
				}
			}
			took := time.Duration(0)
			for turns.has(victim) && took < roundTime {
				turns.spend(victim, time.Millisecond)
				took += time.Millisecond
			}
			if took < roundTime/time.Duration(users+1) {
				t.Fatalf("seed %d, round %d: %d others leave %v", seed, round, users, took)
			}
		}
		if told != int(users) {
			t.Errorf("seed %d: said %d times of %d users", seed, told, users)
		}
	}
}

// TestOneUserHasAllTurns: nobody waits for nobody.
func TestOneUserHasAllTurns(t *testing.T) {
	turns := newTurns(roundTime)
	for range 3 {
		for range 1000 {
			if !turns.has(7) {
				t.Fatal("the only user is put off")
			}
			turns.spend(7, time.Second)
		}
		if !turns.has(8) {
			t.Fatal("another one is put off")
		}
		turns.next()
	}
}

// TestShares: the users with few processes come first, and each has a part of what is left.
func TestShares(t *testing.T) {
	now := time.Unix(0, 0)
	var entries []*process
	for i := range 100 {
		entries = append(entries, &process{payer: 4242, looks: i})
	}
	entries = append(entries, &process{payer: 1000}, &process{payer: 7}, &process{payer: 7})
	shares := newShares(now.Add(9*time.Second), entries)
	var order []uint32
	var parts []time.Duration
	count := 0
	for {
		of, until, ok := shares.next(now)
		if !ok {
			break
		}
		order, parts, count = append(order, of[0].payer), append(parts, until.Sub(now)), count+len(of)
		if of[0].payer == 7 {
			now = until // the others have used nothing
		}
	}
	if !slices.Equal(order, []uint32{1000, 7, 4242}) || count != len(entries) {
		t.Errorf("%v, %d of %d", order, count, len(entries))
	}
	if want := []time.Duration{3 * time.Second, 4500 * time.Millisecond, 4500 * time.Millisecond}; !slices.Equal(parts, want) {
		t.Errorf("%v, not %v", parts, want)
	}
}

// TestArmingTakesTurns: the processes of one user whose attaching takes too long are looked at when the recording has
// begun; those of another one are attached before.
func TestArmingTakesTurns(t *testing.T) {
	p, err := target.NewFinder().Inspect(t.Context(), int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	user := p.Account().User()
	turns := newArmingTurns([]*plannedProcess{{Process: p}})
	turns.spend(user, time.Hour)
	if !turns.has(user) {
		t.Error("the only user is put off")
	}
	turns = newTurns(armTime)
	turns.users = 2
	turns.spend(4242, armTime/2)
	if turns.has(4242) || !turns.has(1000) {
		t.Error("one user takes the time of another")
	}
	told := 0
	f := &follower{looks: newLooks(), journal: newJournal(Observer{Message: func(string) { told++ }})}
	f.postponeArming(p, &turns)
	if pid, ok := f.looks.next(); !ok || pid != p.PID || told != 1 || turns.postpone(p.PID, user) {
		t.Errorf("PID %d is looked at later, said %d times", pid, told)
	}
}
