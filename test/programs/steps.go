package programs

import (
	"fmt"
	"slices"
)

// chooseSteps puts into the bodies of callbacks what they do. Sources come first, then the callbacks of each topic in
// the order of ranks: when a callback is filled, its rate is known.
func (g *generator) chooseSteps() {
	var sources []*callback
	for _, c := range g.callbacks {
		if c.rank < 0 {
			sources = append(sources, c)
		}
	}
	for _, c := range sources {
		g.choosePublishes(c, 1+g.IntN(2))
	}
	for _, t := range g.topics {
		for _, c := range t.consumers {
			c.rate = t.rate
			if g.chance(60) {
				g.choosePublishes(c, 1)
			}
		}
	}
	for _, c := range g.callbacks {
		if c.traced && g.chance(50) {
			c.steps = append(c.steps, fmt.Sprintf("burn(%d);", 10+g.IntN(200)))
		}
	}
	timers := slices.DeleteFunc(slices.Clone(sources), func(c *callback) bool { return !c.traced || c.executor.nested })
	g.chooseEffects(timers)
	for _, c := range g.callbacks {
		if c.traced && c.executor.throwing && g.chance(20) {
			g.feature("exception")
			c.last = append(c.last, fmt.Sprintf("if (turn %% %d == 0) throw Thrown();", 2+g.IntN(8)))
		}
	}
}

// every returns a statement that is executed so rarely that it happens less often than the limit, in times a second.
func (g *generator) every(c *callback, limit float64, statement string) (string, float64) {
	n := 1 + g.IntN(4)
	for c.rate/float64(n) > limit {
		n++
	}
	return fmt.Sprintf("if (turn %% %d == %d) %s", n, g.IntN(n), statement), c.rate / float64(n)
}

func (g *generator) choosePublishes(c *callback, count int) {
	for range count {
		p := pick(g, g.publishers)
		if p.topic.rank <= c.rank || p.topic.rate > maxRate {
			continue
		}
		step, rate := g.every(c, 40, pick(g, p.statements))
		p.topic.rate += rate
		if c.traced {
			g.feature("publish: in a callback")
		}
		c.steps = append(c.steps, step)
	}
}

// chooseEffects gives timers everything else that somebody has to do.
func (g *generator) chooseEffects(timers []*callback) {
	if len(timers) == 0 {
		return
	}
	put := func(c *callback, limit float64, statement string) {
		step, _ := g.every(c, limit, statement)
		c.steps = append(c.steps, step)
	}
	for _, statements := range [][]string{g.callers, g.responders, g.triggers} {
		for _, statement := range statements {
			put(pick(g, slices.Concat(timers, g.workers)), 20, statement)
		}
	}
	// What follows must not happen twice at once.
	exclusive := slices.DeleteFunc(slices.Clone(timers), func(c *callback) bool { return !c.exclusive })
	if len(exclusive) == 0 {
		return
	}
	for _, p := range g.polls {
		put(pick(g, exclusive), 50, p.statement)
	}
	for _, t := range g.toggles {
		g.feature("entity that comes and goes")
		put(pick(g, exclusive), 5, t.statement)
	}
	for _, n := range g.nodes {
		if n.managed {
			put(pick(g, exclusive), 5, fmt.Sprintf("%s->step(%d);", n.name, n.id))
		}
	}
	for _, e := range g.executors {
		if !e.nested {
			continue
		}
		spin := fmt.Sprintf("executor%d->spin_some(5ms);", e.id)
		if g.chance(50) {
			g.feature("nested spinning: exceptions are caught around it")
			spin = fmt.Sprintf("try { %s } catch (const Thrown &) {}", spin)
			put(pick(g, exclusive), 50, spin)
			continue
		}
		by := pick(g, exclusive)
		e.throwing = by.executor.throwing
		put(by, 50, spin)
	}
	if len(g.resets) > 0 && g.chance(30) {
		g.feature("timer that is reset")
		of := pick(g, g.resets)
		put(pick(g, exclusive), 5, fmt.Sprintf("timer%d->reset();", of.id))
	}
}
