package lake

// numbers gives entities numbers, from 0 in the order in which they are asked for.
type numbers[E comparable] struct {
	of     map[E]int32
	listed []E
}

func newNumbers[E comparable]() *numbers[E] { return &numbers[E]{of: make(map[E]int32)} }

func (n *numbers[E]) number(entity E) int32 {
	number, known := n.of[entity]
	if !known {
		number = int32(len(n.listed))
		n.of[entity], n.listed = number, append(n.listed, entity)
	}
	return number
}
