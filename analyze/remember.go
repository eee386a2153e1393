package analyze

import "sync"

// remember makes a function of an entity answer from memory after the first time. It is safe for concurrent use.
func remember[E comparable](of func(E) bool) func(E) bool {
	var answers sync.Map
	return func(e E) bool {
		if answer, ok := answers.Load(e); ok {
			return answer.(bool)
		}
		answer := of(e)
		answers.Store(e, answer)
		return answer
	}
}
