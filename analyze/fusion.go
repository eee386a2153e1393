package analyze

import (
	"context"
	"errors"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// A node fuses its inputs if it makes each message that it publishes of one of each of several subscriptions, as when
// it joins the clouds of several lidars: whichever message comes last publishes, so its callbacks publish in turn.
// That the callback which publishes is the one whose message counts would then call most inputs dropped.
//
// A node that passes on whatever comes by any of its subscriptions also publishes in several callbacks. The two differ
// in what comes between publishes: a node that fuses has got a message of each input since the publish before.
const (
	// fusedShare is the share of publishes, in percent, before which a message of each input must have come since the
	// publish before. Nodes that stop waiting for an input after a while publish without it now and then.
	fusedShare = 75
	// leastFused is the number of publishes below which nothing is inferred, enoughFused that at which it is judged.
	leastFused, enoughFused = 5, 200
	// surveyedWindows is how many windows are read at most, although some candidate has published less.
	surveyedWindows = 8
)

// fusionCandidate is a publisher with which callbacks of several subscriptions of its node publish.
type fusionCandidate struct {
	publisher *system.Publisher
	// inputs are the subscriptions whose callbacks publish, and then those whose messages, of the type of one of these,
	// lead to nothing else.
	inputs     []fusionInput
	publishing int // of inputs
	published  int // but for the first, before which nothing is known to have been published
	complete   int // of published, those before which a message of each of the publishing inputs came
	begun      bool
}

type fusionInput struct {
	subscription *system.Subscription
	came         bool // since the last publish
	before       int  // publishes before which a message came
}

// fusionCandidates returns those of the architecture.
func fusionCandidates(a *system.Architecture) (candidates []*fusionCandidate) {
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			if !system.IsFollowed(p.TopicName) {
				continue
			}
			c := &fusionCandidate{publisher: p}
			for _, s := range n.Subscriptions {
				if s.Callback != nil && slices.Contains(p.Callbacks, s.Callback) {
					c.inputs = append(c.inputs, fusionInput{subscription: s})
				}
			}
			if c.publishing = len(c.inputs); c.publishing < 2 {
				continue
			}
			for _, s := range n.Subscriptions {
				if s.Callback != nil && len(s.Callback.Publishes) == 0 && len(s.PolledBy) == 0 && c.hasType(s.MessageType) {
					c.inputs = append(c.inputs, fusionInput{subscription: s})
				}
			}
			candidates = append(candidates, c)
		}
	}
	return candidates
}

// hasType tells whether one of the inputs whose callbacks publish has messages of a type.
func (c *fusionCandidate) hasType(messageType string) bool {
	return messageType != "" && slices.ContainsFunc(c.inputs[:c.publishing], func(in fusionInput) bool { return in.subscription.MessageType == messageType })
}

func (c *fusionCandidate) receive(s *system.Subscription) {
	for i := range c.inputs {
		if c.inputs[i].subscription == s {
			c.inputs[i].came = true
		}
	}
}

func (c *fusionCandidate) publish() {
	complete := true
	for i := range c.inputs {
		in := &c.inputs[i]
		if c.begun && in.came {
			in.before++
		}
		complete = complete && (in.came || i >= c.publishing)
		in.came = false
	}
	if c.begun {
		c.published++
		if complete {
			c.complete++
		}
	}
	c.begun = true
}

// contexts returns what is inferred of the inputs.
func (c *fusionCandidate) contexts() (contexts []system.MessageContext) {
	isMost := func(publishes int) bool { return publishes*100 >= c.published*fusedShare }
	if c.published < leastFused || !isMost(c.complete) {
		return nil
	}
	for _, in := range c.inputs {
		if isMost(in.before) {
			contexts = append(contexts, system.MessageContext{Type: system.ContextFused, Subscription: in.subscription, Publisher: c.publisher})
		}
	}
	return contexts
}

// errSurveyed ends the reading when enough is known of all candidates.
var errSurveyed = errors.New("enough is known")

// inferFusion finds out which nodes fuse their inputs. Without a candidate nothing is read.
func (q *Query) inferFusion(ctx context.Context) error {
	candidates := fusionCandidates(q.Architecture)
	if len(candidates) == 0 {
		return nil
	}
	bySubscription := make(map[*system.Subscription][]*fusionCandidate)
	byPublisher := make(map[*system.Publisher]*fusionCandidate)
	for _, c := range candidates {
		byPublisher[c.publisher] = c
		for _, in := range c.inputs {
			bySubscription[in.subscription] = append(bySubscription[in.subscription], c)
		}
	}
	wanted := &wantedMessages{
		publisher:    func(p *system.Publisher) bool { return byPublisher[p] != nil },
		subscription: func(s *system.Subscription) bool { return bySubscription[s] != nil },
		known:        true,
		whenever:     true, // what a node does does not depend on the time that is asked for
	}
	windows := 0
	err := q.eachMessageWindow(ctx, wanted, func(w *messageWindow) error {
		windows++
		next := 0
		for _, d := range w.departures {
			for next < len(w.arrivals) && w.arrivals[next].start <= d.at {
				receiveAll(bySubscription, w.arrivals[next])
				next++
			}
			if c := byPublisher[d.publisher]; c != nil {
				c.publish()
			}
		}
		for _, a := range w.arrivals[next:] {
			receiveAll(bySubscription, a)
		}
		isOpen := func(c *fusionCandidate) bool { return c.published < enoughFused }
		if windows < surveyedWindows && slices.ContainsFunc(candidates, isOpen) {
			return nil
		}
		return errSurveyed
	})
	if err != nil && !errors.Is(err, errSurveyed) {
		return err
	}
	for _, c := range candidates {
		n := c.publisher.Node
		n.InferredContexts = append(n.InferredContexts, c.contexts()...)
	}
	return nil
}

func receiveAll(candidates map[*system.Subscription][]*fusionCandidate, a *arrival) {
	for _, c := range candidates[a.subscription] {
		c.receive(a.subscription)
	}
}
