package graph

import "github.com/caret-bpf/caret-bpf/trace"

// KnownType says of which type the messages of a publisher (its rcl handle) or of a subscription (its rmw handle) are.
type KnownType struct {
	Address     trace.Address
	MessageType string
}

// KnownTypes returns the types that became known since the last call.
func (g *Graph) KnownTypes() []KnownType {
	known := g.knownTypes
	g.knownTypes = nil
	return known
}

// knowType notes, once for each entity, that its type is known.
func (g *Graph) knowType(noted *bool, address trace.Address, messageType string) {
	if *noted || address == 0 || messageType == "" {
		return
	}
	*noted = true
	g.knownTypes = append(g.knownTypes, KnownType{address, messageType})
}
