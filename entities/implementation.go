package entities

import "github.com/caret-bpf/caret-bpf/trace"

// RMWImplementation returns the name of the process's implementation of rmw, or the beginning of it, as its services
// and clients tell it, "" while none has.
func (g *Graph) RMWImplementation() string { return g.implementation }

// noteImplementation notes the name that every object of rmw has, or reads it where its initialization did not
// tell it. A process has one implementation.
func (g *Graph) noteImplementation(name string, rmwHandle trace.Address) {
	if g.implementation != "" {
		return
	}
	if isIdentifier(name) {
		g.implementation = name
	} else if name, err := g.reader.identifierAt(rmwHandle); err == nil {
		g.implementation = name
	}
}

// implementationOf returns as much of the implementation's name as a client's identity tells: the kernel side reads one
// of those that it knows by name.
func implementationOf(identity string) string {
	switch len(identity) {
	case 2 * cycloneClientSize:
		return "rmw_cyclonedds"
	case 2 * gidSize:
		return "rmw_fastrtps"
	}
	return ""
}
