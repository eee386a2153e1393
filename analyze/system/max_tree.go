package system

import "cmp"

// maxTree finds the greatest of neighbouring values without looking at each. Behind as many elements as there are
// values has the values themselves, and before that each element i has the greater one of 2i and 2i+1.
type maxTree[T cmp.Ordered] []T

func newMaxTree[T cmp.Ordered](n int, value func(i int) T) maxTree[T] {
	t := make(maxTree[T], 2*n)
	for i := range n {
		t[n+i] = value(i)
	}
	for i := n - 1; i > 0; i-- {
		t[i] = max(t[2*i], t[2*i+1])
	}
	return t
}

// cover calls a function with the few elements that have the values from begin until end between them.
func (t maxTree[T]) cover(begin, end int, use func(element int)) {
	n := len(t) / 2
	for begin, end = begin+n, end+n; begin < end; begin, end = begin/2, end/2 {
		if begin%2 == 1 {
			use(begin)
			begin++
		}
		if end%2 == 1 {
			end--
			use(end)
		}
	}
}
