package probes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/quota"
)

// Who pays for a proof is refused more than his share, and whoever does not wait any more gets none. That says nothing
// of the site.
func TestProofsArePaidFor(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("jazzy"), rclOfJazzy)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil && !errors.Is(err, ErrRequiredMissing) {
		t.Fatal(err)
	}
	site := siteOf(t, plan, abi.EventCallbackStart)
	const payer = 4242
	poor := quota.New(quota.Totals{quota.Work: 1 << 40, quota.Memory: 4 << 10}).Of(payer)
	ended, cancel := context.WithCancel(t.Context())
	for name, test := range map[string]struct {
		ctx  context.Context
		end  func()
		want error
		says string
	}{
		"who has room":     {quota.New(quota.Totals{quota.Work: 1 << 40, quota.Memory: 1 << 40}).Of(payer).With(t.Context()), func() {}, nil, ""},
		"who has none":     {poor.With(t.Context()), func() {}, quota.ErrUsedUp, fmt.Sprint("user ", payer)},
		"who waits":        {t.Context(), func() {}, nil, ""},
		"who has given up": {ended, cancel, context.Canceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			prover, err := NewProver(test.ctx, site.Opened)
			if err == nil {
				defer prover.Close()
				test.end()
				err = prover.Prove(site)
			}
			if !errors.Is(err, test.want) || errors.Is(err, ErrRefused) != (test.want != nil) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}
