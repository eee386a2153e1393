package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

const (
	// listedPaths is the number of paths that are listed where none are asked for.
	listedPaths = 50
	// measuredPaths is the number of paths at most of which it is found out whether messages took them.
	measuredPaths = 200
	// wantedPaths is the number of paths that are listed where some are asked for.
	wantedPaths = 1000
)

// pathList are the paths of a page.
type pathList struct {
	Paths []pathAnswer `json:"paths"`
	// Complete is false where there are more paths.
	Complete bool `json:"complete"`
}

// pathAnswer are the paths of one text: several where nodes share a name.
type pathAnswer struct {
	ID     int    `json:"id"`
	Text   string `json:"text"`
	Nodes  []int  `json:"nodes"`
	Topics []int  `json:"topics"`
	// Flows are the times for which a report has the flow of messages.
	Flows []flowSpan `json:"flows,omitempty"`
}

type flowSpan struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Why  string `json:"why"`
}

func (v *View) pathsAnswer(ctx context.Context, k key) (*pathList, error) {
	if k.has("from") {
		var list *pathList
		err := v.withActivity(ctx, func(q *analyze.Query) error {
			paths, err := v.options.Paths.Find(ctx, q, nil, k.value("from"), k.value("to"))
			list = v.listPaths(paths, wantedPaths)
			return err
		})
		return list, err
	}
	return v.pathList(ctx)
}

// CheckPaths finds the paths that the user has asked for. Errors are those of the PathFinder.
func (v *View) CheckPaths(ctx context.Context) error {
	if !v.options.asksForPaths() {
		return v.withActivity(ctx, func(*analyze.Query) error { return nil })
	}
	_, err := v.pathList(ctx)
	return err
}

func (o *Options) asksForPaths() bool {
	return len(o.PathTexts) > 0 || o.PathFrom != "" || o.PathTo != ""
}

// pathList are the paths that the user has asked for, else those that messages took.
func (v *View) pathList(ctx context.Context) (*pathList, error) {
	return v.paths.get(ctx, func(ctx context.Context) (list *pathList, err error) {
		o := &v.options
		err = v.withActivity(ctx, func(q *analyze.Query) error {
			if o.asksForPaths() {
				paths, err := o.Paths.Find(ctx, q, o.PathTexts, o.PathFrom, o.PathTo)
				list = v.listPaths(v.nameable(ctx, q, paths), wantedPaths)
				return err
			}
			list, err = v.takenPaths(ctx, q)
			return err
		})
		return list, err
	})
}

// withActivity asks about everything, when it is known what callbacks publish.
func (v *View) withActivity(ctx context.Context, ask func(*analyze.Query) error) error {
	return v.withActivityOf(ctx, v.options.Filter, ask)
}

func (v *View) withActivityOf(ctx context.Context, filter analyze.Filter, ask func(*analyze.Query) error) error {
	_, err := v.activity.get(ctx, func(ctx context.Context) (done struct{}, err error) {
		return done, v.linked.prepare(ctx, func(q *analyze.Query) error {
			if err := q.LoadActivity(ctx); err != nil {
				return err
			}
			return v.options.Paths.Adopt(q)
		})
	})
	if err != nil {
		return err
	}
	return v.linked.take(ctx, filter, ask)
}

// takenPaths are the longest paths that messages took from where they originate to where no path leads on,
// listedPaths at most. The longest measuredPaths are looked at.
func (v *View) takenPaths(ctx context.Context, q *analyze.Query) (*pathList, error) {
	paths, complete, err := q.Architecture.Paths(ctx, system.PathQuery{Undefined: v.options.Paths.Options().Latest})
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p *system.Path) bool { return len(p.Nodes) < 2 })
	paths = append(slices.Clone(q.Architecture.NamedPaths), paths...)
	taken := make(map[string]bool)
	slices.SortStableFunc(paths, func(a, b *system.Path) int {
		return cmp.Or(cmp.Compare(b.Name, a.Name), cmp.Compare(len(b.Nodes), len(a.Nodes)))
	})
	list := v.listPaths(nil, listedPaths)
	measured := 0
	for measured < min(len(paths), measuredPaths) && len(list.Paths) < listedPaths {
		first := measured
		measured = min(len(paths), measured+listedPaths)
		batch := v.nameable(ctx, q, paths[first:measured])
		hops, err := q.PathLatency(ctx, batch, v.options.Paths.Options(), nil)
		if err != nil {
			return nil, err
		}
		for i := range hops {
			if hops[i].Hop == 0 && hops[i].Count > 0 {
				taken[hops[i].Path] = true
			}
		}
		list = v.listPaths(slices.DeleteFunc(slices.Clone(paths[:measured]), func(p *system.Path) bool { return !taken[textOf(p)] }), listedPaths)
	}
	list.Complete = list.Complete && complete && measured == len(paths)
	return list, nil
}

// nameable are those paths that can be asked for by their texts. A name with "]-[" in it cannot be told from two. The
// query's warnings say that others are left out.
func (v *View) nameable(ctx context.Context, q *analyze.Query, paths []*system.Path) []*system.Path {
	named := slices.DeleteFunc(slices.Clone(paths), func(p *system.Path) bool {
		_, err := v.options.Paths.Find(ctx, q, []string{textOf(p)}, "", "")
		return err != nil
	})
	const warning = "paths are left out whose nodes or topics have ]-[ in their names: they look like longer ones"
	if len(named) < len(paths) && !slices.Contains(q.Warnings, warning) {
		q.Warnings = append(q.Warnings, warning)
	}
	return named
}

// textOf is what a path is called.
func textOf(p *system.Path) string { return cmp.Or(p.Name, p.String()) }

func (v *View) listPaths(paths []*system.Path, most int) *pathList {
	list := &pathList{Paths: []pathAnswer{}, Complete: true}
	seen := make(map[string]bool)
	for _, p := range paths {
		text := textOf(p)
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(list.Paths) == most {
			list.Complete = false
			break
		}
		of := pathAnswer{ID: len(list.Paths), Text: text, Nodes: []int{}, Topics: []int{}}
		for i, n := range p.Nodes {
			if i == 0 && n.Subscription != nil {
				of.Topics = append(of.Topics, v.linkedEntities.topic(n.Subscription.TopicName))
			}
			if id, known := v.linkedEntities.nodes[n.Node]; known {
				of.Nodes = append(of.Nodes, id)
			} else {
				of.Nodes = append(of.Nodes, unknown)
			}
			if n.Publisher != nil {
				of.Topics = append(of.Topics, v.linkedEntities.topic(n.Publisher.TopicName))
			}
		}
		list.Paths = append(list.Paths, of)
	}
	return list
}
