package graph

import "github.com/caret-bpf/caret-bpf/trace"

func (r reader) functionSymbol(callback trace.Address) string { return "" }

func (r reader) timerSymbol(callback trace.Address, typeName string) string {
	return functorSymbol(typeName)
}
