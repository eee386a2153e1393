package lake

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSettledOrder: instances come out in one order, however those of one time come in, and wherever batches end.
func TestSettledOrder(t *testing.T) {
	type instance struct{ at, of int64 }
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var times []int64
		at := int64(0)
		for range random.IntN(60) {
			at += random.Int64N(3)
			times = append(times, at)
		}
		var want []instance
		for i, at := range times {
			want = append(want, instance{at, int64(i)})
		}
		shuffled := slices.Clone(want)
		for i := range shuffled {
			if j := random.IntN(len(shuffled)); shuffled[i].at == shuffled[j].at {
				shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
			}
		}
		order := settled[instance]{at: func(i *instance) int64 { return i.at }, compare: func(a, b *instance) int { return int(a.of - b.of) }}
		var got []instance
		pass := func(some []instance) error {
			got = append(got, some...)
			return nil
		}
		for len(shuffled) > 0 {
			n := 1 + random.IntN(len(shuffled))
			batch := slices.Clone(shuffled[:n])
			if err := order.add(batch, pass); err != nil {
				t.Fatal(err)
			}
			clear(batch) // whose memory is used again
			shuffled = shuffled[n:]
		}
		if err := order.rest(pass); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v: %v", got, want, err)
		}
	}
}
