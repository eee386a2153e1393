package graph

import "github.com/caret-bpf/caret-bpf/trace"

// RMWImplementation returns the name of the process's implementation of rmw as its services and clients tell it, ""
// while none has.
func (g *Graph) RMWImplementation() string { return g.implementation }

// noteImplementation reads the name that every object of rmw begins with. A process has one implementation.
func (g *Graph) noteImplementation(rmwHandle trace.Address) {
	if g.implementation != "" {
		return
	}
	if name, err := g.reader.namePointer(rmwHandle, isIdentifier); err == nil {
		g.implementation = name
	}
}
