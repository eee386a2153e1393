package entities

import "github.com/caret-bpf/caret-bpf/trace"

// KnownType says of which type the messages of a publisher (its rcl handle) or of a subscription (its rmw handle) are.
type KnownType struct {
	Address     trace.Address
	MessageType string
	// Adapted says that the intra-process messages of a publisher may be of another type.
	Adapted bool
}

// KnownTypes returns the types that became known since the last call.
func (g *Graph) KnownTypes() []KnownType {
	known := g.knownTypes
	g.knownTypes = nil
	return known
}

// knowType notes, once for each entity, that its type is known.
func (g *Graph) knowType(noted *bool, known KnownType) {
	if *noted || known.Address == 0 || known.MessageType == "" {
		return
	}
	*noted = true
	g.knownTypes = append(g.knownTypes, known)
}
