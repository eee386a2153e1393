package system

import (
	"cmp"
	"fmt"
	"slices"
)

// Adopt takes from an architecture that was read from a file what no recording shows: variable passings, message
// contexts and named paths. Callbacks are found by what they are, as CARET does: node, kind, topic or period, symbol
// and construction order, since addresses and numbers differ from run to run; where the file has no symbol, without it.
// It returns what was not found.
func (a *Architecture) Adopt(file *Architecture) (missing []string) {
	for _, described := range file.Nodes {
		nodes := a.FindNodes(described.Name)
		if len(nodes) == 0 && len(described.VariablePassings)+len(described.MessageContexts) > 0 {
			missing = append(missing, fmt.Sprintf("node %s is not in the recording", described.Name))
		}
		for _, n := range nodes {
			missing = append(missing, n.adopt(described)...)
		}
	}
	for _, p := range file.NamedPaths {
		path, err := a.resolvePath(pathToEntry(p))
		if err != nil {
			missing = append(missing, fmt.Sprintf("path %s: %v", p.Name, err))
			continue
		}
		a.NamedPaths = append(a.NamedPaths, path)
	}
	return missing
}

func (n *Node) adopt(described *Node) (missing []string) {
	find := func(wanted *Callback) *Callback {
		i := slices.IndexFunc(n.Callbacks, func(c *Callback) bool { return c.same(wanted) })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("callback %s (%s) is not in the recording", wanted.Name, cmp.Or(wanted.Symbol, wanted.TopicName)))
			return nil
		}
		return n.Callbacks[i]
	}
	for _, v := range described.VariablePassings {
		if write, read := find(v.Write), find(v.Read); write != nil && read != nil {
			n.VariablePassings = append(n.VariablePassings, VariablePassing{Write: write, Read: read})
		}
	}
	for _, c := range described.MessageContexts {
		adopted := MessageContext{
			Type:         c.Type,
			Subscription: n.findSubscription(c.Subscription.TopicName, c.Subscription.ConstructionOrder),
			Publisher:    n.findPublisher(c.Publisher.TopicName, c.Publisher.ConstructionOrder),
		}
		if adopted.Subscription == nil || adopted.Publisher == nil {
			missing = append(missing, fmt.Sprintf("message context of %s: the recording has no subscription of %s or no publisher of %s", n.Name, c.Subscription.TopicName, c.Publisher.TopicName))
			continue
		}
		found := true
		for _, wanted := range c.Callbacks {
			callback := find(wanted)
			found = found && callback != nil
			adopted.Callbacks = append(adopted.Callbacks, callback)
		}
		if found {
			n.MessageContexts = append(n.MessageContexts, adopted)
		}
	}
	return missing
}

// same tells whether a recorded callback is the one that a file describes.
func (c *Callback) same(described *Callback) bool {
	return c.Kind == described.Kind && c.TopicName == described.TopicName && c.Period == described.Period &&
		c.ConstructionOrder == described.ConstructionOrder && (described.Symbol == "" || c.Symbol == described.Symbol)
}
