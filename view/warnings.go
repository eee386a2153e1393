package view

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// warnings are what answers lack, as the queries for them found. They are safe for concurrent use.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) add(all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, warning := range all {
		if !slices.Contains(w.all, warning) {
			w.all = append(w.all, warning)
		}
	}
}

func (w *warnings) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// warningsKey is the key of the warnings in a context.
type warningsKey struct{}

// warningIn returns a context in which questions leave their warnings.
func warningIn(ctx context.Context) (context.Context, *warnings) {
	w := new(warnings)
	return context.WithValue(ctx, warningsKey{}, w), w
}

// warn leaves warnings with who asks.
func warn(ctx context.Context, all []string) {
	if w, ok := ctx.Value(warningsKey{}).(*warnings); ok {
		w.add(all)
	}
}

// withWarnings adds a member "warnings" to a JSON object, if there are any.
func withWarnings(answer []byte, all []string) ([]byte, error) {
	if len(all) == 0 || len(answer) < 2 || answer[0] != '{' {
		return answer, nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	member := append([]byte(`{"warnings":`), text...)
	if answer[1] != '}' {
		member = append(member, ',')
	}
	return append(member, answer[1:]...), nil
}
