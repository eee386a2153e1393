package analyze

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownHost is returned for a host that no dataset is of.
var ErrUnknownHost = errors.New("no dataset is of the host")

// ClockOptions say how the clocks of several hosts are brought together. The zero ClockOptions take real times of all
// hosts for the same.
type ClockOptions struct {
	// ByMessages takes what messages tell of the clocks: all times are on the first host's then.
	ByMessages bool
	// Offsets are how far the clocks of hosts are ahead of the first dataset's host, by the hosts' names.
	Offsets map[string]ClockOffset
}

// AlignClocks brings the clocks of several hosts together in another way than NewQuery has done. It is called before
// anything is asked. The error wraps ErrUnknownHost if an offset is of none.
func (q *Query) AlignClocks(ctx context.Context, options ClockOptions) error {
	if options.ByMessages {
		if len(q.hosts.list) < 2 {
			return nil
		}
		evidence, err := q.readEvidence(ctx)
		if err != nil {
			return err
		}
		clocks := newMessageClocks(q.hosts.list, evidence)
		q.warnOfSupposedRates(clocks.supposed)
		q.align(clocks)
		return nil
	}
	given := make(map[int]ClockOffset)
	for name, offset := range options.Offsets {
		host := q.hosts.index(name)
		if host < 1 {
			return fmt.Errorf("%w %q, or it is the first one: they are of %s", ErrUnknownHost, name, strings.Join(q.hosts.names(), ", "))
		}
		given[host] = offset
	}
	q.align(newRecordedClocks(q.hosts, given))
	return nil
}
