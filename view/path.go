package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// shownWays is the number of ways along a path that are shown, evenly chosen, besides the slowest ones.
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
	slowest []way
}

// pathSeries are ways along one path, in the order of their begins.
type pathSeries struct {
	At []int64 `json:"t"`
	// Hops has for each hop how long each of the ways took on it, Total how long they took in all.
	Hops  [][]trace.Optional[int64] `json:"hops"`
	Total []int64                   `json:"total"`
}

// way is a way along a path.
type way struct {
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
		gathering := &wayGathering{of: make(map[string][]way)}
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
			answer := v.newPathLatency(gathering.of[text])
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

// wayGathering makes ways of the hops of messages, which follow the path as a whole.
type wayGathering struct{ of map[string][]way }

func (g *wayGathering) add(instances []analyze.PathHopInstance) error {
	for i := range instances {
		hop := &instances[i]
		ways := g.of[hop.Path]
		switch {
		case hop.Hop == 0:
			ways = append(ways, way{begin: hop.Begin, total: hop.Latency.Value})
		case len(ways) > 0:
			last := &ways[len(ways)-1]
			last.hops = append(last.hops, hop.Latency)
		}
		g.of[hop.Path] = ways
	}
	return nil
}

// chooseWays chooses the slowest ways and evenly of the others.
func chooseWays(ways []way) []way {
	if len(ways) <= shownWays+slowestWays {
		return ways
	}
	chosen := make(map[int]bool)
	for _, i := range bySlowness(ways)[:slowestWays] {
		chosen[i] = true
	}
	for i := range shownWays {
		chosen[i*len(ways)/shownWays] = true
	}
	var shown []way
	for i := range ways {
		if chosen[i] {
			shown = append(shown, ways[i])
		}
	}
	return shown
}

// bySlowness are the indexes of ways, the slowest first.
func bySlowness(ways []way) []int {
	order := make([]int, len(ways))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ways[b].total, ways[a].total) })
	return order
}

func (v *View) newPathLatency(ways []way) *pathLatency {
	answer := &pathLatency{Series: []pathSeries{}, Ways: len(ways), Instances: len(ways)}
	if len(ways) == 0 {
		return answer
	}
	chosen := chooseWays(ways)
	answer.Shown = len(chosen)
	answer.Series = append(answer.Series, v.newPathSeries(chosen))
	for _, i := range bySlowness(chosen)[:min(len(chosen), slowestWays)] {
		answer.slowest = append(answer.slowest, chosen[i])
	}
	return answer
}

func (v *View) newPathSeries(ways []way) pathSeries {
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
