package loader

import (
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/probes"
)

var (
	// ErrPermission says that the kernel refused what a capability of this process would have allowed. The error names it.
	ErrPermission = errors.New("permission denied")
	// ErrPIDNamespace says that the recorder runs in another PID namespace than the host's.
	ErrPIDNamespace = errors.New("the recorder is not in the host's PID namespace")
	// ErrUnsupportedKernel says that the running kernel lacks what recording needs. The error names the least version.
	ErrUnsupportedKernel = errors.New("not supported by this kernel")
	// ErrNoTracefs says that tracefs is not mounted.
	ErrNoTracefs = errors.New("tracefs is not mounted")
	// ErrRequiredSite says that a site without which the plan is useless could not be attached. Nothing of the plan is
	// attached.
	ErrRequiredSite = errors.New("a required site cannot be attached")
	// ErrProcessGone says that the process to attach to does not exist (any more).
	ErrProcessGone = errors.New("the process is gone")
	// ErrUnsafeSite says that a breakpoint at the site could change what the traced program does.
	ErrUnsafeSite = errors.New("unsafe site")
	// ErrFileChanged says that the file is not the one that the plan was made for.
	ErrFileChanged = errors.New("the file is not the planned one")
	// ErrConflictingSite says that the site is already attached for every process, with another cookie.
	ErrConflictingSite = errors.New("already attached for every process in another form")
	// ErrUnverified marks a warning, not a failure: the site is attached as far as the kernel says, but the process's
	// memory does not show it or cannot be read.
	ErrUnverified = errors.New("attached, but not seen in the process's memory")
	// ErrHeldUp is what Options.Tell is told of processes that attaching or detaching waits for, or waited.
	ErrHeldUp = errors.New("attaching or detaching is held up")
	// ErrClosed says that the loader was closed before.
	ErrClosed = errors.New("the loader is closed")
)

// heldUpError is an ErrHeldUp that says it in its own words.
type heldUpError string

func (e heldUpError) Error() string { return string(e) }

func (heldUpError) Is(target error) bool { return target == ErrHeldUp }

// SiteError says what is wrong with one site of a plan. The site is attached only when Err is ErrUnverified.
type SiteError struct {
	Site probes.Site
	Err  error
}

func (e SiteError) Error() string {
	return fmt.Sprintf("%s at %s+%#x (%s): %v", e.Site.Event, e.Site.Library, e.Site.Offset, e.Site.Symbol, e.Err)
}

// Unwrap returns the cause.
func (e SiteError) Unwrap() error { return e.Err }

// Attached reports whether the error is only a warning about a site that is attached.
func (e SiteError) Attached() bool { return errors.Is(e.Err, ErrUnverified) }
