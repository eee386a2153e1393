package loader

import (
	"errors"
	"io"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// placedSite is a site that passed its checks, with the file it is in.
type placedSite struct {
	probes.Site
	file *probedFile
	set  int // of links
}

// Cookie is that of the site, with the set of links that the site is attached with.
func (s placedSite) Cookie() uint64 { return s.Site.Cookie() | uint64(s.set)<<abi.CookieSetShift }

// attachGroup names the sites that are attached together.
type attachGroup struct {
	program string
	file    fileID // zero: sites of several files
	cookie  uint64 // zero: sites with several cookies
}

// attacher is one way to attach sites.
type attacher interface {
	// group returns what a site is attached together with.
	group(site placedSite) attachGroup
	// attach attaches the sites of one group in the given process, 0 for every process. They are detached when the result
	// is closed.
	attach(program *ebpf.Program, name string, process int32, sites []placedSite) (io.Closer, error)
	// Close is called when nothing is attached any more.
	io.Closer
}

// attachGood attaches those of the sites that the kernel takes. One bad site makes the kernel refuse all of them
// without saying which, so it is found by trying halves. A cause that lies in no site (isSiteError) ends the search.
func attachGood(attach func([]placedSite) (io.Closer, error), sites []placedSite) (io.Closer, []placedSite, []SiteError, error) {
	attached, err := attach(sites)
	if err == nil {
		return attached, sites, nil, nil
	}
	good, bad, err := separateBad(attach, sites, err)
	if err != nil || len(good) == 0 {
		return nil, nil, bad, err
	}
	attached, err = attach(good)
	if err != nil {
		return nil, nil, bad, err
	}
	return attached, good, bad, nil
}

// separateBad sorts sites that were refused together by whether each is refused alone. It leaves nothing attached.
func separateBad(attach func([]placedSite) (io.Closer, error), sites []placedSite, cause error) (good []placedSite, bad []SiteError, err error) {
	if !isSiteError(cause) {
		return nil, nil, cause
	}
	if len(sites) == 1 {
		return nil, []SiteError{{sites[0].Site, cause}}, nil
	}
	for _, half := range [][]placedSite{sites[:len(sites)/2], sites[len(sites)/2:]} {
		attached, cause := attach(half)
		if cause == nil {
			if err := closeAll([]io.Closer{attached}); err != nil {
				return nil, nil, err
			}
			good = append(good, half...)
			continue
		}
		goodOfHalf, badOfHalf, err := separateBad(attach, half, cause)
		if err != nil {
			return nil, nil, err
		}
		good = append(good, goodOfHalf...)
		bad = append(bad, badOfHalf...)
	}
	return good, bad, nil
}

// isSiteError reports whether the kernel may have refused because of a site rather than for lack of rights or
// resources, or because the process is gone.
func isSiteError(err error) bool {
	for _, other := range []error{
		ErrProcessGone, ErrPermission, os.ErrNotExist,
		unix.ESRCH, unix.EPERM, unix.EACCES, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ENOSPC, unix.EINTR,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}
