package attaching

import (
	"context"
	"errors"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
)

// prober has the kernel attach sites and detach them, has them paid for, and tells what came of it. It knows nothing of
// who needs which.
type prober struct {
	kernel   kernel
	reporter Reporter
	budget   *budget
}

// attach attaches sites in a process, or in every one (0), those that a budget may ask to detach apart from the
// others. It tells what came of it, notes in known which sites need not be tried again, and returns what is not
// attached. The account pays; nobody does for what is attached for everybody.
func (p *prober) attach(
	ctx context.Context, pid int32, account *quota.Account, sites []probes.Site, known attachedSites,
) (attachments []unitAttachment, failed map[siteKey]error, err error) {
	var problems []loader.SiteError
	for _, group := range p.budget.groupByUnit(sites) {
		attachment, groupProblems, attachError := p.attachPaid(ctx, pid, account, group.sites)
		problems = append(problems, groupProblems...)
		if attachError != nil {
			err = errors.Join(attachError, p.close(attachments))
			break
		}
		if group.unit != notOptional {
			p.budget.optional[group.unit] = true
		}
		attachment.unit = group.unit
		attachments = append(attachments, attachment)
	}
	failed = map[siteKey]error{}
	for _, problem := range problems {
		p.reporter.Warn(problem)
		if !problem.Attached() {
			failed[keyOf(problem.Site)] = problem
		}
	}
	if err != nil {
		return nil, nil, err
	}
	p.note(pid, sites, failed, known)
	return attachments, failed, nil
}

// attachByFile attaches sites file by file, all or none: in a process, or in every one (0).
func (p *prober) attachByFile(
	ctx context.Context, pid int32, account *quota.Account, sites []probes.Site, known attachedSites,
) (all []unitAttachment, attached int, err error) {
	for _, group := range byFile(sites) {
		attachments, count, err := p.attachFile(ctx, pid, account, group, known)
		if err != nil {
			return nil, 0, errors.Join(err, p.close(all))
		}
		all = append(all, attachments...)
		attached += count
	}
	return all, attached, nil
}

// failedFile is an error of attaching to a file, of which it has one of the sites.
type failedFile struct {
	site probes.Site
	error
}

func (f failedFile) Unwrap() error { return f.error }

// attachFile attaches sites that are all in one file. The error is a failedFile.
func (p *prober) attachFile(
	ctx context.Context, pid int32, account *quota.Account, sites []probes.Site, known attachedSites,
) (attachments []unitAttachment, attached int, err error) {
	attachments, failed, err := p.attach(ctx, pid, account, sites, known)
	if err != nil {
		return nil, 0, failedFile{sites[0], err}
	}
	for i := range attachments {
		attachments[i].file = sites[0].File
	}
	return attachments, len(sites) - len(failed), nil
}

// attachPaid attaches sites if there is room for them in the account.
func (p *prober) attachPaid(
	ctx context.Context, pid int32, account *quota.Account, sites []probes.Site,
) (unitAttachment, []loader.SiteError, error) {
	count := int64(len(sites))
	if err := account.Take(quota.Probes, count); err != nil {
		return unitAttachment{}, nil, err
	}
	proven := monotonicNow() // or later: they are proven before they are attached, and once more afterwards
	attached, problems, err := p.kernel.Attach(account.With(ctx), pid, sites)
	if err != nil {
		account.Give(quota.Probes, count)
		return unitAttachment{}, problems, err
	}
	return unitAttachment{attachment: attached, account: account, probes: count, proven: proven}, problems, nil
}

// note tells of sites that are attached and were not known. What failed is tried again at the next look unless it can
// never succeed.
func (p *prober) note(pid int32, sites []probes.Site, failed map[siteKey]error, known attachedSites) {
	var fresh []probes.Site
	now := monotonicNow()
	for _, site := range sites {
		key := keyOf(site)
		err := failed[key]
		if err == nil && !known[key].settled {
			fresh = append(fresh, site)
		}
		state := siteState{
			settled: err == nil || errors.Is(err, loader.ErrUnsafeSite) || errors.Is(err, loader.ErrFileChanged), unit: optionalUnit(site),
		}
		if err == nil {
			state.at = now
		}
		known[key] = state
	}
	if len(fresh) > 0 {
		p.reporter.Attached(pid, fresh)
	}
}

// detach detaches the sites, and says why, unless that is of no interest.
func (p *prober) detach(of *detachable, why string) {
	p.reporter.Warn(p.close(p.release(of, why)))
}

// release is detach, but for closing what it returns.
func (p *prober) release(of *detachable, why string) []unitAttachment {
	closing := of.attachments
	of.attachments, of.detached = nil, true
	p.budget.settling = true
	if why != "" {
		p.reporter.Message(why)
	}
	return closing
}

// retire has a unit probed no more, and says why. What is attached of it is still to be closed.
func (p *prober) retire(unit abi.Unit, r retirement) {
	p.reporter.Warn(p.kernel.RetireUnit(unit))
	delete(p.budget.optional, unit)
	p.budget.retired[unit] = r
}

// close closes attachments, and gives back what was paid for them.
func (p *prober) close(attachments []unitAttachment) error {
	if len(attachments) == 0 {
		return nil
	}
	plain := make([]attachment, 0, len(attachments))
	for _, held := range attachments {
		held.account.Give(quota.Probes, held.probes)
		plain = append(plain, held.attachment)
	}
	return p.kernel.Close(plain)
}

// closeIf takes those of the attachments out of their lists that are chosen, and closes them together.
func (p *prober) closeIf(chosen func(unitAttachment) bool, lists ...*[]unitAttachment) {
	var closing []unitAttachment
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(held unitAttachment) bool {
			if !chosen(held) {
				return false
			}
			closing = append(closing, held)
			return true
		})
	}
	p.reporter.Warn(p.close(closing))
}
