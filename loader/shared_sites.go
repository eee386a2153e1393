package loader

import (
	"fmt"
	"io"
)

// siteKey is one program at one place of one file.
type siteKey struct {
	file    fileID
	offset  uint64
	program string
}

func (s placedSite) key() siteKey { return siteKey{fileOf(s.Site), s.Offset, s.Program()} }

// sharedSites are the sites that are attached for every process. Each is attached once, however many attachments hold
// it: a second link would record every event twice. While all links are replaced there are those of the old links, and
// those of the new ones.
type sharedSites map[siteKey]*sharedSite

type sharedSite struct {
	cookie  uint64
	holders int
	link    *sharedLink
}

// sharedLink is closed when nobody holds any of its sites. Until then all of them are attached, held or not.
type sharedLink struct {
	io.Closer
	sites []siteKey
}

// hold splits sites into those attached already, which get one more holder, and the rest.
func (s sharedSites) hold(sites []placedSite) (held, rest []placedSite, problems []SiteError) {
	for _, site := range sites {
		shared := s[site.key()]
		switch {
		case shared == nil:
			rest = append(rest, site)
		case shared.cookie != site.Cookie():
			problems = append(problems, SiteError{site.Site,
				fmt.Errorf("%w: cookie %#x, planned %#x", ErrConflictingSite, shared.cookie, site.Cookie())})
		default:
			shared.holders++
			held = append(held, site)
		}
	}
	return held, rest, problems
}

// add registers newly attached sites with one holder each.
func (s sharedSites) add(link io.Closer, sites []placedSite) []siteKey {
	shared := &sharedLink{Closer: link}
	for _, site := range sites {
		shared.sites = append(shared.sites, site.key())
		s[site.key()] = &sharedSite{cookie: site.Cookie(), holders: 1, link: shared}
	}
	return shared.sites
}

// release takes one holder from each site and returns the links that nobody holds any more, for the caller to close.
func (s sharedSites) release(keys []siteKey) []io.Closer {
	for _, key := range keys {
		s[key].holders--
	}
	var unheld []io.Closer
	for _, key := range keys {
		shared := s[key]
		if shared == nil || s.isHeld(shared.link) {
			continue
		}
		for _, sibling := range shared.link.sites {
			delete(s, sibling)
		}
		unheld = append(unheld, shared.link)
	}
	return unheld
}

func (s sharedSites) isHeld(link *sharedLink) bool {
	for _, key := range link.sites {
		if s[key].holders > 0 {
			return true
		}
	}
	return false
}
