package attachguard

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// Of many users whose connections hang, one after the other is suspected, and soon many at once, but who has done so
// before is the first. Only if one and the same wait of the process lasts is any of them.
func TestWhoIsSuspectedNext(t *testing.T) {
	const users = 20
	now := time.Now()
	before := now.Add(-time.Minute)
	h := holder{pid: 1, account: 1000}
	var others []connection
	hanging := map[string]time.Time{}
	for i := range users {
		id := fmt.Sprint(i)
		others = append(others, connection{id: id, owner: uint32(2000 + i)})
		hanging[id] = before.Add(time.Duration(i) * time.Second)
	}
	for name, test := range map[string]struct {
		waiter waiter
		waits  time.Time
		rounds int
		ended  map[uint32]bool
		want   []string
	}{
		"the one that hangs longest":    {waiter{pid: 1, wait: "w"}, before, 0, nil, []string{"0"}},
		"whose does not help":           {waiter{pid: 1, wait: "w"}, before, 2, nil, []string{"0", "1", "2", "3"}},
		"whose did before":              {waiter{pid: 1, wait: "w"}, before, 0, map[uint32]bool{2007: true}, []string{"7"}},
		"the wait is new":               {waiter{pid: 1, wait: "w"}, now, 0, map[uint32]bool{2007: true}, nil},
		"another process waits":         {waiter{pid: 2, account: 1000, wait: "w"}, before, 0, nil, nil},
		"a reader of its memory waits":  {waiter{pid: 2, account: 1000, remote: true, wait: "w"}, before, 0, nil, []string{"0"}},
		"a stranger reads other memory": {waiter{pid: 2, account: 3000, remote: true, wait: "w"}, before, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch{now: now, hanging: hanging, waits: map[string]time.Time{"w": test.waits}, ended: test.ended,
				tried: map[int]attempt{h.pid: {at: before, rounds: test.rounds}}}
			var got []string
			for _, c := range w.overdueOthers(h, others, []waiter{test.waiter}) {
				got = append(got, c.id)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v", got)
			}
			w.tried[h.pid] = attempt{at: now.Add(-lookInterval / 2)}
			if got := w.overdueOthers(h, others, []waiter{test.waiter}); len(got) != 0 {
				t.Errorf("just after others: %v", got)
			}
		})
	}
}

// To blame is whoever's connection was ended when the process was let go, not who had his ended in vain before.
func TestWhoIsToBlame(t *testing.T) {
	w := watch{now: time.Now()}
	h, other := holder{pid: 1, account: 1000}, holder{pid: 2}
	w.note(h, connection{owner: 1000})
	w.settle([]holder{h, other})
	w.now = w.now.Add(lookInterval)
	w.note(h, connection{owner: 1001})
	w.note(other, connection{owner: 1002})
	w.settle([]holder{other})
	if want := map[uint32]bool{1001: true}; !maps.Equal(w.ended, want) || !w.isUrgent() {
		t.Errorf("%v are to blame", w.ended)
	}
	w.settle(nil)
	if want := map[uint32]bool{1001: true, 1002: true}; !maps.Equal(w.ended, want) || len(w.tried) != 0 {
		t.Errorf("%v are to blame, %v is still tried", w.ended, w.tried)
	}
}
