package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// automatic is the value of --control for a socket where `ctl` finds it.
const automatic = "auto"

// socketExtension is that of sockets whose names are the recorders' PIDs.
const socketExtension = ".sock"

// socketFolder is where the sockets are that `ctl` finds, of this user's recorders; "" if there is no such place.
func (c *console) socketFolder() string {
	if os.Geteuid() == 0 {
		return c.rootsSockets
	}
	if runtime := c.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		return filepath.Join(runtime, "caret-bpf")
	}
	return ""
}

// rootsSockets is where the sockets of recorders are that root runs, also for others.
const rootsSockets = "/run/caret-bpf"

// socketOf is where the socket of one of this user's recorders is.
func (c *console) socketOf(pid int) string {
	return filepath.Join(c.socketFolder(), strconv.Itoa(pid)+socketExtension)
}

// listenForControl makes the socket of a recording.
func listenForControl(c console, path string) (net.Listener, error) {
	if path != automatic {
		return control.Listen(path, c.caller, c.caller)
	}
	folder := c.socketFolder()
	if folder == "" {
		return nil, fmt.Errorf("%w: --control auto needs XDG_RUNTIME_DIR; name a path", errUsage)
	}
	// It is made with all rights: the user who called sudo may not write there, and must not.
	if err := control.MakeFolder(folder); err != nil {
		return nil, err
	}
	for _, socket := range socketsIn(folder) {
		_ = control.RemoveAbandoned(socket) // others are served
	}
	return control.Listen(c.socketOf(os.Getpid()), nil, c.caller)
}

// errNotBegun is the answer to what only a recording that has begun can do.
var errNotBegun = errors.New("the recording has not begun yet")

// controlled is a recording as it is served: from before it begins.
type controlled struct {
	console console
	output  string                         // an absolute path: clients are in folders of their own
	handle  atomic.Pointer[session.Handle] // nil until everything is attached
	cancel  context.CancelFunc
	windows liveWindows
}

// newControlled serves a recording with an output, as it was given.
func newControlled(c console, output string, cancel context.CancelFunc) (*controlled, error) {
	absolute, err := filepath.Abs(output)
	if err != nil {
		return nil, fmt.Errorf("the directory of the recording: %w", err)
	}
	return &controlled{console: c, output: absolute, cancel: cancel}, nil
}

func (r *controlled) arm(h *session.Handle) { r.handle.Store(h) }

// armed is what drives the recording once everything is attached.
func (r *controlled) armed() (*session.Handle, error) {
	if h := r.handle.Load(); h != nil {
		return h, nil
	}
	return nil, errNotBegun
}

// asRequest says of errors that ask for what makes no sense, or for what there is not, that they do.
func asRequest(err error) error {
	switch {
	case errors.Is(err, session.ErrConfiguration), errors.Is(err, session.ErrTarget), errors.Is(err, session.ErrSpan), errors.Is(err, writer.ErrExists):
		return fmt.Errorf("%w: %w", control.ErrRequest, err)
	case errors.Is(err, session.ErrNoTrigger):
		return fmt.Errorf("%w: %w", control.ErrUnknown, err)
	}
	return err
}

// Stop has the recording end, or not begin.
func (r *controlled) Stop() {
	if h := r.handle.Load(); h != nil {
		h.Stop()
		return
	}
	r.cancel()
}

// Sources are the processes that could be recorded: all for root, their own for others.
func (r *controlled) Sources(ctx context.Context, user uint32) ([]control.Source, error) {
	found, err := findListed(ctx, r.console, "", "")
	defer closeAll(found)
	if err != nil {
		return nil, err
	}
	return describeAll(ctx, slices.DeleteFunc(slices.Clone(found), func(p *target.Process) bool { return user != 0 && !p.IsOf(user) }))
}

// Start begins a recording that waits for it.
func (r *controlled) Start(ctx context.Context) error {
	h, err := r.armed()
	if err != nil {
		return err
	}
	return h.Start(ctx)
}

// Flush returns when all that was recorded before the call is on disk.
func (r *controlled) Flush(ctx context.Context) error {
	h, err := r.armed()
	if err != nil {
		return err
	}
	return h.Flush(ctx)
}

// Snapshot copies what was recorded.
func (r *controlled) Snapshot(ctx context.Context, asked control.SnapshotRequest) (control.Snapshot, error) {
	h, err := r.armed()
	if err != nil {
		return control.Snapshot{}, err
	}
	if err := checkOutput(asked.Output); err != nil {
		return control.Snapshot{}, err
	}
	if asked.LastNs < 0 || asked.LastNs > 0 && (asked.BeginNs != 0 || asked.EndNs != 0) {
		return control.Snapshot{}, fmt.Errorf("%w: last_ns is a time, and not beside begin_ns and end_ns", control.ErrRequest)
	}
	made, err := h.Snapshot(ctx, session.SnapshotRequest{
		Span: trace.Span{First: asked.BeginNs, Last: asked.EndNs}, Lately: time.Duration(asked.LastNs),
		Path: asked.Output, Name: "request", Reason: cmp.Or(asked.Reason, "request"),
	})
	return describeSnapshot(made, err)
}

// Rotate moves what was recorded so far into a dataset of its own.
func (r *controlled) Rotate(ctx context.Context, asked control.RotationRequest) (control.Snapshot, error) {
	h, err := r.armed()
	if err != nil {
		return control.Snapshot{}, err
	}
	if err := checkOutput(asked.Output); err != nil {
		return control.Snapshot{}, err
	}
	made, err := h.Rotate(ctx, session.RotationRequest{Path: asked.Output, Reason: cmp.Or(asked.Reason, "request")})
	return describeSnapshot(made, err)
}

func checkOutput(path string) error {
	if path != "" && !filepath.IsAbs(path) {
		return fmt.Errorf("%w: the recorder needs an absolute path, not %q", control.ErrRequest, path)
	}
	return nil
}

func describeSnapshot(made session.Snapshot, err error) (control.Snapshot, error) {
	if err != nil {
		return control.Snapshot{}, asRequest(err)
	}
	return control.Snapshot{Output: made.Path, BeginNs: made.First, EndNs: made.Last, HeldFromNs: made.HeldFrom, Rows: made.Rows}, nil
}

// Settings are those of now.
func (r *controlled) Settings() (control.Settings, error) {
	h, err := r.armed()
	if err != nil {
		return control.Settings{}, err
	}
	return describeSettings(h.Settings()), nil
}

// Change gives the recording other settings.
func (r *controlled) Change(ctx context.Context, change control.SettingsChange) (control.Settings, error) {
	h, err := r.armed()
	if err != nil {
		return control.Settings{}, err
	}
	changed, err := h.Change(ctx, func(s *session.Settings) {
		if change.Profile != nil {
			s.Profile = probes.Profile(*change.Profile)
		}
		if change.MaxOverhead != nil {
			s.MaxOverhead = *change.MaxOverhead
		}
		for _, list := range []struct{ from, into *[]string }{
			{change.SelectNodes, &s.SelectNodes}, {change.IgnoreNodes, &s.IgnoreNodes},
			{change.SelectTopics, &s.SelectTopics}, {change.IgnoreTopics, &s.IgnoreTopics},
		} {
			if list.from != nil {
				*list.into = slices.DeleteFunc(slices.Clone(*list.from), func(expression string) bool { return expression == "" })
			}
		}
	})
	return describeSettings(changed), asRequest(err)
}

func describeSettings(s session.Settings) control.Settings {
	return control.Settings{
		Profile: string(s.Profile), MaxOverhead: s.MaxOverhead, SelectNodes: s.SelectNodes, IgnoreNodes: s.IgnoreNodes,
		SelectTopics: s.SelectTopics, IgnoreTopics: s.IgnoreTopics,
	}
}

// Targets are the processes that are recorded now.
func (r *controlled) Targets() []control.Target {
	all := []control.Target{}
	if h := r.handle.Load(); h != nil {
		for _, target := range h.Targets() {
			all = append(all, control.Target{PID: target.PID, ProcessStart: target.ProcessStart, Command: target.Command})
		}
	}
	return all
}

// Add begins to record a process for a user.
func (r *controlled) Add(ctx context.Context, pid int32, user uint32) error {
	h, err := r.armed()
	if err != nil {
		return err
	}
	return asRequest(h.AddTarget(ctx, pid, user))
}

// Remove ends the recording of a process.
func (r *controlled) Remove(ctx context.Context, pid int32) error {
	h, err := r.armed()
	if err != nil {
		return err
	}
	return asRequest(h.RemoveTarget(ctx, pid))
}

// Probes are where processes are probed now.
func (r *controlled) Probes() ([]control.Probe, error) {
	h, err := r.armed()
	if err != nil {
		return nil, err
	}
	all := []control.Probe{}
	for _, p := range h.Probes() {
		all = append(all, control.Probe{
			Event: p.Event, File: p.File, BuildID: p.BuildID, Symbol: p.Symbol, Offset: p.Offset, Class: p.Class, Role: p.Role,
			CostNs: p.Cost.Nanoseconds(), PIDs: append([]int{}, p.PIDs...), // JSON shows none as a list, too
		})
	}
	return all, nil
}

// Triggers says what is waited for, and what came of it.
func (r *controlled) Triggers() []control.Trigger {
	all := []control.Trigger{}
	if h := r.handle.Load(); h != nil {
		for _, count := range h.Triggers() {
			all = append(all, control.Trigger{
				Name: count.Name, Definition: count.Definition, Fired: count.Fired, Suppressed: count.Suppressed, LastNs: count.Last,
				Output: count.Output, Failed: count.Failed,
			})
		}
	}
	return all
}

// Fire has done what a trigger asks for.
func (r *controlled) Fire(name, reason string) error {
	h, err := r.armed()
	if err != nil {
		return err
	}
	return asRequest(h.Fire(name, cmp.Or(reason, "request")))
}

// Status is how the recording was about a second ago.
func (r *controlled) Status() control.Status {
	now := session.Status{State: trace.StateConfigured}
	if h := r.handle.Load(); h != nil {
		now = h.Status()
	}
	if now.Rows == nil {
		now.Rows = map[string]uint64{}
	}
	return control.Status{
		PID: os.Getpid(), Version: version, Output: r.output, State: string(now.State), BeganNs: now.Began, ElapsedNs: now.Elapsed.Nanoseconds(),
		Processes: now.Processes, Rows: now.Rows, Lost: now.Lost, Unarmed: now.Unarmed, Warnings: now.Warnings, Overhead: now.Overhead,
		Ring:    control.Ring{Bytes: now.RingBytes, Pending: now.RingPending, Peak: now.RingPeak},
		Former:  control.Former{Kept: now.Former.Kept, Bytes: now.Former.Bytes, Removed: now.Former.Removed},
		Uploads: describeUploads(now.Uploads),
	}
}

// describeUploads is nil where nothing is uploaded.
func describeUploads(now *trace.Uploads) *control.Uploads {
	if now == nil {
		return nil
	}
	return &control.Uploads{
		To: now.To, Arrived: now.Arrived, Waiting: now.Waiting, WaitingBytes: now.WaitingBytes, Failed: now.Failed, Reason: now.Reason,
		OfflineSinceNs: now.OfflineSince, Sent: now.Sent, SentBytes: now.SentBytes, Deleted: now.Deleted, Gone: now.Gone,
	}
}

// isUnavailable reports whether an error is no failure: what was asked for cannot be done now.
func isUnavailable(err error) bool {
	return errors.Is(err, errNotBegun) || errors.Is(err, session.ErrNotStarted) || errors.Is(err, session.ErrOver)
}

// findSockets returns the sockets of recorders that root runs, and of this user's.
func (c *console) findSockets() (sockets []string) {
	folders := []string{c.rootsSockets}
	if own := c.socketFolder(); own != "" && own != c.rootsSockets {
		folders = append(folders, own)
	}
	for _, folder := range folders {
		sockets = append(sockets, socketsIn(folder)...)
	}
	return sockets
}

func socketsIn(folder string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, "*"+socketExtension)) // the pattern is well formed
	return found
}
