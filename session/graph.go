package session

import (
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/trace"
	"math"
)

// nobodyKnown pays for processes that were gone before their user was known.
const nobodyKnown = math.MaxUint32

// entityMeter has a user pay for the entities of a process.
type entityMeter struct{ account *quota.Account }

func (m entityMeter) Take(places int) error { return m.account.Take(quota.Entities, int64(places)) }

func (m entityMeter) Give(places int) { m.account.Give(quota.Entities, int64(places)) }

func newGraph(key trace.ProcessKey, account *quota.Account) *entities.Graph {
	g := entities.New(key)
	g.Limit(entityMeter{account})
	return g
}
