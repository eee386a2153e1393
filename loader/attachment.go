package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/selfexec"
)

// Attachment is what one call of Loader.Attach attached. Closing it restores the process's text.
type Attachment struct {
	loader   *Loader
	process  int32
	files    []*probedFile // held
	placed   []placedSite  // those that are attached
	links    []io.Closer
	set      *linkSet
	shared   []siteKey // held in set.shared
	filtered bool      // holds the process in loader.processes
	bodies   bool      // is counted in loader.bodies
	closed   bool
}

// Close detaches the sites and waits until no program of theirs runs any more. Sites that other attachments share stay.
// The process need not exist any more. Closing twice does nothing.
func (a *Attachment) Close() error {
	a.loader.attachMutex.Lock()
	defer a.loader.attachMutex.Unlock()
	return a.close()
}

func (a *Attachment) close() error { return a.loader.closeEach([]*Attachment{a}) }

// CloseEach closes attachments side by side, which takes about as long for many as for one.
func (l *Loader) CloseEach(attachments []*Attachment) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	return l.closeEach(attachments)
}

func (l *Loader) closeEach(attachments []*Attachment) error {
	open := slices.DeleteFunc(slices.Clone(attachments), func(a *Attachment) bool { return a.closed })
	var links []io.Closer
	for _, a := range open {
		a.closed = true
		delete(l.attachments, a)
		links = append(links, a.links...)
		links = append(links, a.set.shared.release(a.shared)...)
	}
	errs := []error{closeAll(links)}
	for _, a := range open {
		if a.filtered {
			errs = append(errs, l.processes.release(a.process))
		}
		if a.bodies {
			errs = append(errs, l.countBodies(-1))
		}
		for _, file := range a.files {
			file.Release()
		}
	}
	return errors.Join(errs...)
}

// closeAll closes links side by side: each waits for the kernel to be sure that nobody is in its programs, and those
// waits can be one. A process of hundreds of libraries has more than a thousand links.
func closeAll(links []io.Closer) error {
	return selfexec.CloseEverywhere(func() error { return closeSideBySide(links) })
}

func closeSideBySide(links []io.Closer) error {
	errs := make([]error, len(links))
	sideBySide(256, len(links), func(i int) { errs[i] = links[i].Close() })
	return errors.Join(errs...)
}

// sideBySide calls do with the numbers below count, so many at once, and returns when all calls have.
func sideBySide(atOnce, count int, do func(i int)) {
	slots := make(chan struct{}, atOnce)
	var doing sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		doing.Go(func() {
			do(i)
			<-slots
		})
	}
	doing.Wait()
}

// Attach attaches sites in one process, or in every process that maps their files when process is 0. Each site is
// proven in the file that was opened when it was planned, before it is attached to this very file and once more after
// that; and a breakpoint of each link is looked for in the process's memory.
//
// With process 0 a site that is attached for every process already is shared, not attached twice, so the plans of
// several processes can be attached one after the other.
//
// Sites that could not be attached, and warnings (SiteError.Attached), are in the second result. When one of them is
// Required the error is ErrRequiredSite and nothing stays attached, as after any other error: ErrProcessGone,
// ErrPermission, ErrFileChanged when a file was written meanwhile, ctx's. Who pays for ctx pays for proofs:
// probes.ErrRefused if he has used his share.
func (l *Loader) Attach(ctx context.Context, process int32, sites []probes.Site) (*Attachment, []SiteError, error) {
	return l.attach(ctx, process, sites, holdProbedFile)
}

// attach is Attach for sites in files that hold opens.
func (l *Loader) attach(ctx context.Context, process int32, sites []probes.Site, hold holdFile) (*Attachment, []SiteError, error) {
	if process < 0 {
		return nil, nil, fmt.Errorf("%d is no PID", process)
	}
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	if l.detached {
		return nil, nil, ErrClosed
	}
	l.startGuard()
	shadowStack, err := l.hasShadowStack(process)
	if err != nil {
		return nil, nil, err
	}
	attachment := &Attachment{loader: l, process: process, set: l.links}
	l.attachments[attachment] = struct{}{}
	groups, problems, err := attachment.place(ctx, sites, hold, shadowStack)
	if err != nil {
		return nil, problems, errors.Join(err, attachment.close())
	}
	if process != 0 && len(groups) > 0 {
		problems = append(problems, l.readBacks.inTime(ctx, process, groups)...)
	}
	return attachment, problems, nil
}

// place proves the sites, attaches them, and proves them again. It returns the groups that are attached.
func (a *Attachment) place(ctx context.Context, sites []probes.Site, hold holdFile, shadowStack bool) ([][]placedSite, []SiteError, error) {
	placed, problems := a.placeSites(ctx, sites, hold, shadowStack)
	if err := ctx.Err(); err != nil {
		return nil, nil, err // nothing is wrong with the sites
	}
	if err := requiredFailure(problems); err != nil {
		return nil, problems, err
	}
	groups, attachProblems, err := a.attachPlaced(ctx, placed)
	problems = append(problems, attachProblems...)
	if err == nil {
		err = requiredFailure(problems)
	}
	if err == nil {
		a.placed = slices.Concat(groups...)
		err = proveAll(ctx, a.placed)
	}
	return groups, problems, err
}

// Verify returns ErrFileChanged if a file was written since it was opened, and a site that is attached is not proven in
// it any more. New mappings of the file get breakpoints where they were: the attachment should be closed. Nobody pays:
// it is for attachments to every process.
func (a *Attachment) Verify() error {
	a.loader.attachMutex.Lock()
	defer a.loader.attachMutex.Unlock()
	if a.closed || !slices.ContainsFunc(a.files, func(file *probedFile) bool { return file.Unchanged() != nil }) {
		return nil
	}
	return proveAll(context.Background(), slices.DeleteFunc(slices.Clone(a.placed), func(site placedSite) bool {
		return site.file.Unchanged() == nil
	}))
}

// holdFile opens the file of a site, and holds it.
type holdFile func(probes.Site) (*probedFile, error)

// placeSites holds the sites' files, and proves the sites in them. A site given twice is placed once.
func (a *Attachment) placeSites(ctx context.Context, sites []probes.Site, hold holdFile, shadowStack bool) ([]placedSite, []SiteError) {
	var placed []placedSite
	var problems []SiteError
	var held []placedSite
	files := make(map[fileID]*probedFile)
	for _, site := range sites {
		file := files[fileOf(site)]
		if file == nil {
			var err error
			if file, err = hold(site); err != nil {
				problems = append(problems, SiteError{site, err})
				continue
			}
			files[fileOf(site)] = file
			a.files = append(a.files, file)
		}
		held = append(held, placedSite{site, file, a.set.index})
	}
	proofs := prove(ctx, held)
	seen := make(map[siteKey]uint64)
	for i, p := range held {
		site := p.Site
		if err := cmp.Or(checkSite(p.file, site, shadowStack), proofs[i]); err != nil {
			problems = append(problems, SiteError{site, err})
			continue
		}
		if cookie, twice := seen[p.key()]; twice {
			if cookie != site.Cookie() {
				problems = append(problems, SiteError{site, fmt.Errorf("twice in the plan, with cookies %#x and %#x", cookie, site.Cookie())})
			}
			continue
		}
		seen[p.key()] = site.Cookie()
		placed = append(placed, p)
	}
	return placed, problems
}

// prove proves sites, several files side by side. For each it returns nil, ErrUnsafeSite for what is not proven, or
// probes.ErrRefused for what nobody knows.
func prove(ctx context.Context, sites []placedSite) []error {
	var files []*probedFile
	of := make(map[*probedFile][]int)
	for i, site := range sites {
		if of[site.file] == nil {
			files = append(files, site.file)
		}
		of[site.file] = append(of[site.file], i)
	}
	errs := make([]error, len(sites))
	sideBySide(runtime.GOMAXPROCS(0), len(files), func(i int) { proveIn(ctx, files[i], sites, of[files[i]], errs) })
	return errs
}

// proveIn proves some of the sites, which are in one file.
func proveIn(ctx context.Context, file *probedFile, sites []placedSite, some []int, errs []error) {
	begun, err := file.newProver(ctx)
	if err == nil {
		defer begun.Close() // there is nothing to do about an error: nothing was written
	}
	for _, i := range some {
		if errs[i] = err; err == nil {
			errs[i] = begun.Prove(sites[i].Site)
		}
		if errs[i] != nil && !errors.Is(errs[i], probes.ErrRefused) {
			errs[i] = fmt.Errorf("%w: %w", ErrUnsafeSite, errs[i])
		}
	}
}

// proveAll proves sites that are attached: the owner of a file can write it at any time.
func proveAll(ctx context.Context, sites []placedSite) error {
	for i, err := range prove(ctx, sites) {
		site := sites[i]
		if errors.Is(err, probes.ErrRefused) {
			return SiteError{site.Site, err}
		}
		if err != nil {
			return fmt.Errorf("%w: it was written meanwhile: %w", ErrFileChanged, SiteError{site.Site, err})
		}
	}
	return nil
}

// requiredFailure returns ErrRequiredSite with the problems of required sites, nil when there is none.
func requiredFailure(problems []SiteError) error {
	var failures []error
	for _, problem := range problems {
		if problem.Site.Required && !problem.Attached() {
			failures = append(failures, problem)
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRequiredSite, errors.Join(failures...))
}

// attachPlaced is attachAll, with the kernel side prepared for bodies that are probed beside callers.
func (a *Attachment) attachPlaced(ctx context.Context, sites []placedSite) ([][]placedSite, []SiteError, error) {
	if slices.ContainsFunc(sites, func(s placedSite) bool { return s.Role == abi.RoleBody || s.Role == abi.RoleOwnBody }) {
		if err := a.loader.countBodies(1); err != nil {
			return nil, nil, err
		}
		a.bodies = true
	}
	return a.attachAll(ctx, sites)
}

// attachAll attaches the sites group by group and returns the groups that are attached.
func (a *Attachment) attachAll(ctx context.Context, sites []placedSite) ([][]placedSite, []SiteError, error) {
	filter := a.process
	if a.process != 0 && a.loader.filterInProgram {
		if err := a.loader.processes.hold(a.process); err != nil {
			return nil, nil, err
		}
		a.filtered = true
		filter = 0
	}
	var groups [][]placedSite
	var problems []SiteError
	if filter == 0 {
		var held []placedSite
		held, sites, problems = a.set.shared.hold(sites)
		for _, site := range held {
			a.shared = append(a.shared, site.key())
		}
		groups = groupSites(a.loader.attacher, held)
	}
	for _, group := range groupSites(a.loader.attacher, sites) {
		if err := ctx.Err(); err != nil {
			return nil, problems, err
		}
		good, bad, err := a.attachGroup(filter, group)
		problems = append(problems, bad...)
		if err != nil {
			return nil, problems, err
		}
		if len(good) > 0 {
			groups = append(groups, good)
		}
	}
	return groups, problems, nil
}

// groupSites sorts sites by what they are attached together with, in the order of each group's first site.
func groupSites(a attacher, sites []placedSite) [][]placedSite {
	var groups [][]placedSite
	index := make(map[attachGroup]int)
	for _, site := range sites {
		key := a.group(site)
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], site)
	}
	return groups
}

func (a *Attachment) attachGroup(filter int32, sites []placedSite) ([]placedSite, []SiteError, error) {
	name := sites[0].Program()
	program := a.loader.collection.Programs[name]
	if program == nil {
		var problems []SiteError
		for _, site := range sites {
			problems = append(problems, SiteError{site.Site, fmt.Errorf("no BPF program %s", name)})
		}
		return nil, problems, nil
	}
	attach := func(sites []placedSite) (io.Closer, error) {
		return a.loader.attacher.attach(program, name, filter, sites)
	}
	link, good, bad, err := attachGood(attach, sites)
	if err != nil || link == nil {
		return nil, bad, err
	}
	if filter == 0 {
		a.shared = append(a.shared, a.set.shared.add(link, good)...)
	} else {
		a.links = append(a.links, link)
	}
	return good, bad, nil
}
