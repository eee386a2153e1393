package loader

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// linkSet is what is attached, until all of it is replaced.
type linkSet struct {
	index int // in bpf.CaretVarLinks, and what the cookies of its sites say
	// filter says that the kernel side looks up whether a process is recorded, withholds that it does because nothing of
	// some is.
	filter, withholds bool
	shared            sharedSites
}

func newLinkSet(index int, filter bool) *linkSet {
	return &linkSet{index: index, filter: filter, shared: make(sharedSites)}
}

// rule is what the set's links do with a hit while there are no others.
func (s *linkSet) rule() uint32 {
	if s.filter || s.withholds {
		return abi.LinksFilter
	}
	return 0
}

// linksChange is a replacement of all links. bpf/src/links.h tells how each hit is recorded once.
type linksChange struct {
	number    uint32
	replaced  *linkSet
	committed bool
}

// BeginChange begins to replace all links. What is attached from now on records nothing before CommitChange, and then
// every site of the links that there are has to be attached once more. What only new links are attached to, such as a
// process that begins meanwhile, is recorded from the commit on. filter says that the kernel side looks up whether a
// process is recorded (AddProcess) for the new links, as Options.FilterProcesses does for the first ones.
func (l *Loader) BeginChange(filter bool) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	switch {
	case l.detached:
		return ErrClosed
	case l.change != nil:
		return errChanging
	}
	links := newLinkSet(1-l.links.index, filter || l.filterInProgram)
	links.withholds = l.links.withholds
	if err := l.setRule(links, links.rule()|abi.LinksEarly); err != nil {
		return err
	}
	l.changes++
	l.change = &linksChange{number: l.changes, replaced: l.links}
	l.links = links
	return nil
}

// CommitChange lets the new links record in place of the old ones: each hit is recorded by exactly one of them. When it
// returns, no hit needs the old ones any more, which should be closed then. After an error nothing has changed.
func (l *Loader) CommitChange() error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	switch {
	case l.detached:
		return ErrClosed
	case l.change == nil:
		return errors.New("no change of all links is under way")
	case l.change.committed:
		return errors.New("the change of all links is committed already")
	}
	// A hit that has passed the new link before the commit is for the old one, and misses it if the kernel takes that
	// off its list meanwhile (6.12 and later).
	err := l.beforeLaterHits(l.takeOver)
	if err != nil {
		return fmt.Errorf("committing a change of all links: %w", err)
	}
	l.change.committed = true
	return nil
}

// AwaitHits returns when no hit is under way that began before. A hit that has passed the place of a link before that
// was attached needs the links that were there: they must not be detached meanwhile (6.12 and later).
func (l *Loader) AwaitHits() error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	if l.detached {
		return ErrClosed
	}
	return l.beforeLaterHits(func() error { return nil })
}

// beforeLaterHits tells the kernel side something, and returns when no hit is under way that began before: when a
// uprobe is detached, the kernel waits for hits that are under way. It fails only if nothing was told.
func (l *Loader) beforeLaterHits(tell func() error) error {
	l.startGuard()
	bystander, err := l.attachBystander()
	if err != nil {
		return err
	}
	if err := tell(); err != nil {
		return errors.Join(err, bystander.Close())
	}
	if err := closeAll([]io.Closer{bystander}); err != nil {
		l.tell(fmt.Errorf("waiting for hits that are under way: %w", err))
	}
	return nil
}

// takeOver has the new links record in place of the old ones. Between the two stores a hit is for the old links.
func (l *Loader) takeOver() error {
	replaced, number := l.change.replaced, l.change.number*abi.LinksChange
	if err := l.setRule(replaced, replaced.rule()|abi.LinksYield|number); err != nil {
		return err
	}
	keepStoresInOrder()
	if err := l.setRule(l.links, l.links.rule()|abi.LinksTake|number); err != nil {
		return errors.Join(err, l.setRule(replaced, replaced.rule()))
	}
	return nil
}

// EndChange ends it, after the old links were closed, or the new ones if it was not committed.
func (l *Loader) EndChange() error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	if l.change == nil {
		return errors.New("no change of all links is under way")
	}
	kept, retired := l.change.replaced, l.links
	if l.change.committed {
		kept, retired = retired, kept
	}
	for attachment := range l.attachments {
		if attachment.set == retired {
			return fmt.Errorf("links that a change leaves behind are still attached (PID %d)", attachment.process)
		}
	}
	// Whoever has them open too, such as a child between fork and exec, keeps them for a while.
	if err := l.setRule(retired, abi.LinksEarly); err != nil {
		return err
	}
	keepStoresInOrder() // as long as retired ones may record, the others have to note what they record
	if err := l.setRule(kept, kept.rule()); err != nil {
		return err
	}
	l.links, l.change = kept, nil
	return nil
}

// keepStoresInOrder keeps stores before it and behind it in this order, on processors that would not.
func keepStoresInOrder() {
	var order atomic.Int32
	order.Add(1)
}

// setRule says what the links of a set do with a hit.
func (l *Loader) setRule(set *linkSet, rule uint32) error {
	if l.detached {
		return nil // nothing is attached, and what is told of it may be gone
	}
	rules := l.rules
	rules[set.index] = rule
	if err := l.collection.Variables[bpf.CaretVarLinks].Set(rules); err != nil {
		return fmt.Errorf("telling the kernel side what links do: %w", err)
	}
	l.rules = rules
	return nil
}

// attachBystander attaches where nobody comes along: in this process, at the site for probing features.
func (l *Loader) attachBystander() (io.Closer, error) {
	offset, err := probeSiteOffset()
	if err != nil {
		return nil, err
	}
	file, err := holdOwnFile(probes.Site{})
	if err != nil {
		return nil, err
	}
	site := placedSite{Site: probes.Site{Event: abi.EventSimTime, Offset: offset}, file: file}
	attached, err := l.attacher.attach(l.collection.Programs[site.Program()], site.Program(), int32(os.Getpid()), []placedSite{site})
	file.Release()
	return attached, err
}
