package summary

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// errAllNamed ends a scan that has found what it looks for.
var errAllNamed = errors.New("all are named")

// namedRow are the columns of callback that say what a callback is.
type namedRow struct {
	trace.ProcessKey
	Callback  trace.Address         `column:"callback"`
	Start     trace.Optional[int64] `column:"callback_start_timestamp"`
	Kind      trace.CallbackKind    `column:"kind,null"`
	TopicName string                `column:"topic_name,null"`
	NodeName  string                `column:"node_name,null"`
	Period    trace.Optional[int64] `column:"period"`
	Symbol    string                `column:"symbol,null"`
}

// nameStrangers looks in rows for the names of callbacks that the entity tables do not know: a killed recorder has not
// written all of them.
func (s *summarizer) nameStrangers(ctx context.Context) error {
	strangers := make(map[system.Place]*countedCallback)
	for _, c := range s.callbacks {
		if c.stranger {
			strangers[system.Place{Process: c.process, Address: c.address}] = c
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	left := len(strangers)
	index := s.system.Index()
	err := trace.Scan(ctx, s.dataset, trace.TableCallback, func(rows []namedRow) error {
		for i := range rows {
			row := &rows[i]
			c := strangers[system.Place{Process: row.ProcessKey, Address: row.Callback}]
			if c == nil || row.NodeName == "" && row.Symbol == "" || index.Callbacks.Find(row.ProcessKey, row.Callback, row.Start.Value) != nil {
				continue
			}
			if c.callback == nil {
				left--
			}
			c.describe(row)
		}
		if left == 0 {
			return errAllNamed
		}
		return nil
	})
	if errors.Is(err, errAllNamed) {
		return nil
	}
	return s.damages.Add(err)
}

// describe makes a callback of what a row says. A later row that says more completes it.
func (c *countedCallback) describe(row *namedRow) {
	if c.callback == nil {
		c.callback = &system.Callback{Node: new(system.Node), Address: row.Callback}
	}
	of := c.callback
	of.Node.Name = cmp.Or(of.Node.Name, row.NodeName)
	of.Kind = cmp.Or(of.Kind, row.Kind)
	of.Symbol = cmp.Or(of.Symbol, row.Symbol)
	if row.Kind == trace.KindService {
		of.ServiceName = cmp.Or(of.ServiceName, row.TopicName)
	} else {
		of.TopicName = cmp.Or(of.TopicName, row.TopicName)
	}
	if row.Period.Valid {
		of.Period = row.Period
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
