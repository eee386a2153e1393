package loader

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// fakeKernel attaches unless one of the sites is bad, and counts what is attached.
type fakeKernel struct {
	bad      []uint64 // offsets
	failure  error    // of every attempt
	attached int
	attempts int
}

type fakeLink struct {
	kernel *fakeKernel
	sites  int
}

func (l fakeLink) Close() error {
	l.kernel.attached -= l.sites
	return nil
}

func (k *fakeKernel) attach(sites []placedSite) (io.Closer, error) {
	k.attempts++
	if k.failure != nil {
		return nil, k.failure
	}
	for _, site := range sites {
		if slices.Contains(k.bad, site.Offset) {
			return nil, unix.EINVAL
		}
	}
	k.attached += len(sites)
	return fakeLink{k, len(sites)}, nil
}

func sitesAt(count int) []placedSite {
	var sites []placedSite
	for i := range count {
		sites = append(sites, placedSite{Site: probes.Site{Event: abi.EventCallbackStart, Offset: uint64(i)}})
	}
	return sites
}

func TestAttachGoodFindsEveryBadSite(t *testing.T) {
	for _, test := range []struct {
		sites       int
		bad         []uint64
		maxAttempts int
	}{
		{sites: 1, maxAttempts: 1},
		{sites: 1, bad: []uint64{0}, maxAttempts: 1},
		{sites: 1000, maxAttempts: 1},
		{sites: 1000, bad: []uint64{537}, maxAttempts: 22},
		{sites: 7, bad: []uint64{0, 3, 6}, maxAttempts: 14},
		{sites: 3, bad: []uint64{0, 1, 2}, maxAttempts: 5},
	} {
		t.Run(fmt.Sprintf("%d sites, bad %v", test.sites, test.bad), func(t *testing.T) {
			kernel := &fakeKernel{bad: test.bad}
			link, good, bad, err := attachGood(kernel.attach, sitesAt(test.sites))
			if err != nil {
				t.Fatal(err)
			}
			want := test.sites - len(test.bad)
			if len(good) != want || kernel.attached != want || (link != nil) != (want > 0) {
				t.Errorf("%d good sites, %d attached, link %v; want %d", len(good), kernel.attached, link, want)
			}
			var offsets []uint64
			for _, problem := range bad {
				offsets = append(offsets, problem.Site.Offset)
				expectError(t, problem, unix.EINVAL)
			}
			if !slices.Equal(offsets, test.bad) {
				t.Errorf("bad sites %v, want %v", offsets, test.bad)
			}
			if kernel.attempts > test.maxAttempts {
				t.Errorf("%d attempts, want at most %d", kernel.attempts, test.maxAttempts)
			}
		})
	}
}

func TestAttachGoodDoesNotSearchForWhatLiesInNoSite(t *testing.T) {
	for _, failure := range []error{ErrProcessGone, ErrPermission, unix.ENOMEM, unix.EMFILE} {
		kernel := &fakeKernel{failure: failure}
		_, _, bad, err := attachGood(kernel.attach, sitesAt(8))
		if !errors.Is(err, failure) || len(bad) > 0 || kernel.attempts != 1 {
			t.Errorf("%v: error %v, bad sites %v after %d attempts", failure, err, bad, kernel.attempts)
		}
	}
}

func TestAttachGoodAfterTheProcessDiedInTheSearch(t *testing.T) {
	kernel := &fakeKernel{bad: []uint64{1}}
	attach := func(sites []placedSite) (io.Closer, error) {
		if kernel.attempts == 2 {
			kernel.failure = ErrProcessGone
		}
		return kernel.attach(sites)
	}
	_, _, _, err := attachGood(attach, sitesAt(4))
	expectError(t, err, ErrProcessGone)
	if kernel.attached != 0 {
		t.Errorf("%d sites stayed attached", kernel.attached)
	}
}

func TestSharedSitesStayWhileOneHolds(t *testing.T) {
	kernel := &fakeKernel{}
	shared := make(sharedSites)
	sites := sitesAt(3)
	link, _ := kernel.attach(sites)
	first := shared.add(link, sites)

	held, rest, problems := shared.hold(sitesAt(5)[1:])
	if len(held) != 2 || len(rest) != 2 || len(problems) != 0 {
		t.Fatalf("held %v, rest %v, problems %v; want 2, 2, none", held, rest, problems)
	}
	if links := shared.release(first); len(links) != 0 {
		t.Error("the link is to be closed while two of its sites are held")
	}
	// The first site is held by nobody but still attached: it must not be attached a second time.
	again, rest, _ := shared.hold(sites[:1])
	if len(again) != 1 || len(rest) != 0 {
		t.Errorf("held %v, rest %v; want the site that is still attached", again, rest)
	}
	var keys []siteKey
	for _, site := range append(held, again...) {
		keys = append(keys, site.key())
	}
	links := shared.release(keys)
	if len(links) != 1 || len(shared) != 0 {
		t.Fatalf("%d links to close, %d sites registered; want 1 and 0", len(links), len(shared))
	}
	if err := closeAll(links); err != nil || kernel.attached != 0 {
		t.Errorf("%d sites attached, error %v", kernel.attached, err)
	}
}

func TestSharedSiteWithAnotherCookieIsAProblem(t *testing.T) {
	kernel := &fakeKernel{}
	shared := make(sharedSites)
	link, _ := kernel.attach(sitesAt(1))
	shared.add(link, sitesAt(1))
	other := sitesAt(1)
	other[0].LastLayer = true
	_, _, problems := shared.hold(other)
	if len(problems) != 1 {
		t.Fatalf("problems %v, want one", problems)
	}
	expectError(t, problems[0], ErrConflictingSite)
}

func TestRequiredFailure(t *testing.T) {
	optional, required := probes.Site{}, probes.Site{Required: true}
	if err := requiredFailure([]SiteError{{optional, ErrUnsafeSite}, {required, ErrUnverified}}); err != nil {
		t.Errorf("an optional site and a warning are failures: %v", err)
	}
	err := requiredFailure([]SiteError{{optional, ErrFileChanged}, {required, ErrUnsafeSite}})
	expectError(t, err, ErrRequiredSite)
	expectError(t, err, ErrUnsafeSite)
	if errors.Is(err, ErrFileChanged) {
		t.Errorf("the error of an optional site is among the causes: %v", err)
	}
}
