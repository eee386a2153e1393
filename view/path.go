package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// shownWays is the number of ways along a path that are shown, chosen by chance, besides the slowest ones.
	shownWays   = 2000
	slowestWays = 50
)

// pathLatency is how long messages took along the paths of one text.
type pathLatency struct {
	Hops  *report.JSONRows `json:"hops"`
	Parts *report.JSONRows `json:"parts"`
	// Series are ways along the path, in the order of their begins: one array, or none without ways.
	Series []pathSeries `json:"series"`
	// Ways is the number of ways, of which Shown are in Series: a message may be on several. Instances is the same.
	Ways      int `json:"ways"`
	Instances int `json:"instances"`
	Shown     int `json:"shown"`
	// Messages is how many set out.
	Messages uint64 `json:"messages"`

	// slowest are the slowest ways, the slowest first.
	slowest []*way
}

// pathSeries are ways along one path, in the order of their begins.
type pathSeries struct {
	At []int64 `json:"t"`
	// Hops has for each hop how long each of the ways took on it, Total how long they took in all.
	Hops  [][]trace.Optional[int64] `json:"hops"`
	Total []int64                   `json:"total"`
}

// way is a way along a path. Its number counts those of the path.
type way struct {
	number       int
	begin, total int64
	hops         []trace.Optional[int64]
}

// path answers as the commands do: the rows of a path stay together with those of its hops.
func (v *View) path(ctx context.Context, text string) (*pathLatency, error) {
	all, err := v.pathsOf(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	for _, answer := range all { // paths of one text are called the same
		return answer, nil
	}
	return nil, fmt.Errorf("%w: path %s", system.ErrNoSuchName, text)
}

// pathsOf answers path for several texts at once, by what the paths are called.
func (v *View) pathsOf(ctx context.Context, texts []string) (map[string]*pathLatency, error) {
	all := make(map[string]*pathLatency)
	err := v.withActivity(ctx, func(q *analyze.Query) error {
		paths, err := v.options.Paths.Find(ctx, q, texts, "", "")
		if err != nil {
			return err
		}
		gathering := make(wayGathering)
		hops, err := q.PathLatency(ctx, paths, v.options.Paths.Options(), gathering.add)
		if err != nil {
			return err
		}
		if err := report.Sort(hops, worstFirst, func(_, b *analyze.PathHop) bool { return b.Hop > 0 }); err != nil {
			return err
		}
		parts, err := v.pathParts(ctx, q, paths)
		if err != nil {
			return err
		}
		for _, p := range paths {
			text := textOf(p)
			if all[text] != nil {
				continue
			}
			answer := v.newPathLatency(gathering[text])
			all[text] = answer
			own := ofPath(hops, func(h *analyze.PathHop) bool { return h.Path == text })
			for i := range own {
				if own[i].Hop == 0 {
					answer.Messages += own[i].Messages
				}
			}
			if answer.Hops, err = report.NewJSONRows(own); err != nil {
				return err
			}
			if parts == nil {
				continue
			}
			if answer.Parts, err = report.NewJSONRows(ofPath(parts, func(p *analyze.PathParts) bool { return p.Path == text })); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// ofPath are the rows of a path.
func ofPath[T any](rows []T, of func(*T) bool) (chosen []T) {
	for i := range rows {
		if of(&rows[i]) {
			chosen = append(chosen, rows[i])
		}
	}
	return chosen
}

// pathParts tells where the time went; nil where that was not recorded.
func (v *View) pathParts(ctx context.Context, q *analyze.Query, paths []*system.Path) ([]analyze.PathParts, error) {
	parts, err := q.PathParts(ctx, paths, v.options.Paths.Options(), nil)
	if errors.Is(err, analyze.ErrNoTimesOffCPU) {
		return nil, nil
	}
	if err == nil {
		err = report.Sort(parts, longestFirst, func(_, b *analyze.PathParts) bool { return b.Hop > 0 })
	}
	return parts, err
}

// wayGathering makes ways of the hops of messages, which follow the path as a whole. It keeps those that are shown.
type wayGathering map[string]*gatheredWays

// gatheredWays are the ways along one path.
type gatheredWays struct {
	count    int
	last     *way // that has come last
	byChance sample[*way]
	slowest  sample[*way]
}

func (g wayGathering) add(instances []analyze.PathHopInstance) error {
	for i := range instances {
		hop := &instances[i]
		ways := g[hop.Path]
		if ways == nil {
			ways = &gatheredWays{byChance: sample[*way]{most: shownWays + slowestWays}, slowest: sample[*way]{most: slowestWays}}
			g[hop.Path] = ways
		}
		switch {
		case hop.Hop == 0:
			ways.add(&way{number: ways.count, begin: hop.Begin, total: hop.Latency.Value})
		case ways.last != nil:
			ways.last.hops = append(ways.last.hops, hop.Latency)
		}
	}
	return nil
}

func (g *gatheredWays) add(w *way) {
	g.count++
	g.last = w
	g.byChance.add(scattered(uint64(w.number)), w)
	g.slowest.add(uint64(math.MaxInt64)-uint64(w.total), w) // also of a negative one, between the clocks of two hosts
}

// shown are all ways or, where there are many, some by chance and the slowest ones, in the order of their begins.
func (g *gatheredWays) shown() []*way {
	chosen := g.byChance.first(shownWays + slowestWays)
	if g.count > len(chosen) {
		chosen = append(chosen[:shownWays], g.slowest.first(slowestWays)...)
	}
	byNumber := func(a, b *way) int { return cmp.Compare(a.number, b.number) }
	slices.SortFunc(chosen, byNumber)
	return slices.CompactFunc(chosen, func(a, b *way) bool { return a == b })
}

func (v *View) newPathLatency(ways *gatheredWays) *pathLatency {
	answer := &pathLatency{Series: []pathSeries{}}
	if ways == nil {
		return answer
	}
	chosen := ways.shown()
	answer.Ways, answer.Instances, answer.Shown = ways.count, ways.count, len(chosen)
	answer.Series = append(answer.Series, v.newPathSeries(chosen))
	answer.slowest = ways.slowest.first(slowestWays)
	return answer
}

func (v *View) newPathSeries(ways []*way) pathSeries {
	s := pathSeries{At: []int64{}, Hops: [][]trace.Optional[int64]{}, Total: []int64{}}
	for _, w := range ways {
		for len(s.Hops) < len(w.hops) {
			s.Hops = append(s.Hops, make([]trace.Optional[int64], len(ways)))
		}
	}
	for i, w := range ways {
		s.At, s.Total = append(s.At, v.since(w.begin)), append(s.Total, w.total)
		for hop, latency := range w.hops {
			s.Hops[hop][i] = latency
		}
	}
	return s
}
