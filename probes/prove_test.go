package probes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/quota"
)

// A user who has used his share gets no plan, which is not remembered of the files for anybody else.
func TestPlanningIsPaidFor(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble)
	options := Options{Callers: true, Cache: NewCache()}
	account := p.process.Account()
	held := int64(0)
	for size := int64(1) << 40; size > 0; size /= 2 {
		for account.Take(quota.Memory, size) == nil {
			held += size
		}
	}
	user := fmt.Sprint("user ", account.User())
	if plan, err := NewPlan(t.Context(), p.process, options); !errors.Is(err, ErrRequiredMissing) || len(plan.Sites) > 0 || !strings.Contains(err.Error(), user) {
		t.Errorf("without room: %v", err)
	}
	files := mappedFiles(p.process.Modules)
	for i, callers := range options.Cache.callersIn(p.process.PaidBy(t.Context()), files) {
		if reason := callers.Uncertain["ros_trace_callback_start"]; !strings.Contains(reason, user) {
			t.Errorf("callers in %s without room: %q", files[i].soname, reason)
		}
	}
	account.Give(quota.Memory, held)
	want, err := NewPlan(t.Context(), p.process, Options{Callers: true})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := NewPlan(t.Context(), p.process, options); err != nil || !slices.Equal(plan.Sites, want.Sites) || !slices.Equal(plan.Uncertain, want.Uncertain) {
		t.Errorf("with room: %v", err)
	}
}

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
