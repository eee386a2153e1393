package view

import (
	"container/list"
	"context"
	"sync"
)

// answerBytes bounds the answers that are kept.
const answerBytes = 64 << 20

// answers keeps those that were asked for last. Several who ask for one wait for one making of it.
type answers struct {
	mu     sync.Mutex
	of     map[string]*list.Element // of *keptAnswer
	newest *list.List
	bytes  int
}

type keptAnswer struct {
	key   string
	memo  *memo[[]byte]
	bytes int // as it counts
}

func newAnswers() *answers { return &answers{of: make(map[string]*list.Element), newest: list.New()} }

func (a *answers) get(ctx context.Context, key string, make func(context.Context) ([]byte, error)) ([]byte, error) {
	kept := a.keep(key)
	answer, err := kept.memo.get(ctx, make)
	if err != nil {
		a.drop(kept)
		return nil, err
	}
	a.count(kept, len(key)+len(answer))
	return answer, nil
}

// keep returns the place of an answer, which is the newest now.
func (a *answers) keep(key string) *keptAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.of[key]; at != nil {
		a.newest.MoveToFront(at)
		return at.Value.(*keptAnswer)
	}
	kept := &keptAnswer{key: key, memo: newMemo[[]byte](0)}
	a.of[key] = a.newest.PushFront(kept)
	return kept
}

// count notes the size of an answer, and drops the oldest ones while there are too many.
func (a *answers) count(kept *keptAnswer, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.of[kept.key]; at == nil || at.Value != kept {
		return // it was dropped meanwhile
	}
	a.bytes += bytes - kept.bytes
	kept.bytes = bytes
	for a.bytes > answerBytes && a.newest.Len() > 1 {
		a.remove(a.newest.Back().Value.(*keptAnswer))
	}
}

// drop forgets an answer that could not be made.
func (a *answers) drop(kept *keptAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.of[kept.key]; at != nil && at.Value == kept && kept.bytes == 0 {
		a.remove(kept)
	}
}

func (a *answers) remove(kept *keptAnswer) {
	a.newest.Remove(a.of[kept.key])
	delete(a.of, kept.key)
	a.bytes -= kept.bytes
}
