package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/live"
)

// ErrNobody is returned for a socket that no recording serves.
var ErrNobody = errors.New("no recording is served there")

// ErrRefused is wrapped by errors of requests that a recording did not fulfil.
var ErrRefused = errors.New("the recording has refused")

// maxAnswer bounds what is read of an answer, in bytes. Long ones tell of tens of thousands of probes, or of what each
// of many callbacks has done of late.
const maxAnswer = 64 << 20

// Client asks the recording at one socket.
type Client struct {
	path string
	http http.Client
}

// NewClient connects with the first request.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Client{path: path, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status asks how the recording is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodGet, pathStatus, nil)
}

// Sources asks which processes could be recorded: all for root, their own for others.
func (c *Client) Sources(ctx context.Context) ([]Source, error) {
	all, err := ask[Sources](ctx, c, http.MethodGet, pathSources, nil)
	return all.Sources, err
}

// Snapshot asks for a copy of what was recorded.
func (c *Client) Snapshot(ctx context.Context, r SnapshotRequest) (Snapshot, error) {
	return ask[Snapshot](ctx, c, http.MethodPost, pathSnapshot, r)
}

// Rotate has what was recorded so far be a dataset of its own.
func (c *Client) Rotate(ctx context.Context, r RotationRequest) (Snapshot, error) {
	return ask[Snapshot](ctx, c, http.MethodPost, pathRotate, r)
}

// Settings asks which settings a recording has.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	return ask[Settings](ctx, c, http.MethodGet, pathSettings, nil)
}

// Change gives a recording other settings, and returns when they have taken effect.
func (c *Client) Change(ctx context.Context, change SettingsChange) (Settings, error) {
	return ask[Settings](ctx, c, http.MethodPost, pathSettings, change)
}

// Targets asks which processes are recorded.
func (c *Client) Targets(ctx context.Context) (Targets, error) {
	return ask[Targets](ctx, c, http.MethodGet, pathTargets, nil)
}

// Add begins to record a process, and returns when everything is recorded of it.
func (c *Client) Add(ctx context.Context, pid int32) (Targets, error) {
	return ask[Targets](ctx, c, http.MethodPost, pathAdd, TargetRequest{pid})
}

// Remove ends the recording of a process.
func (c *Client) Remove(ctx context.Context, pid int32) (Targets, error) {
	return ask[Targets](ctx, c, http.MethodPost, pathRemove, TargetRequest{pid})
}

// Probes asks where processes are probed now.
func (c *Client) Probes(ctx context.Context) ([]Probe, error) {
	all, err := ask[Probes](ctx, c, http.MethodGet, pathProbes, nil)
	return all.Probes, err
}

// Triggers asks what is waited for.
func (c *Client) Triggers(ctx context.Context) ([]Trigger, error) {
	all, err := ask[Triggers](ctx, c, http.MethodGet, pathTriggers, nil)
	return all.Triggers, err
}

// Fire has done what a trigger asks for, within its bounds.
func (c *Client) Fire(ctx context.Context, name string, r FireRequest) ([]Trigger, error) {
	all, err := ask[Triggers](ctx, c, http.MethodPost, strings.Replace(pathFire, "{name}", url.PathEscape(name), 1), r)
	return all.Triggers, err
}

// Live asks what a recording has had of late.
func (c *Client) Live(ctx context.Context, r LiveRequest) (live.Snapshot, error) {
	return ask[live.Snapshot](ctx, c, http.MethodPost, LivePath, r)
}

// Start begins a recording that waits for it, and returns when it has begun.
func (c *Client) Start(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodPost, pathStart, nil)
}

// Flush returns when all that was recorded before the call is on disk.
func (c *Client) Flush(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodPost, pathFlush, nil)
}

// Stop has the recording end, and does not wait for that.
func (c *Client) Stop(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, http.MethodPost, pathStop, nil)
}

// ask sends a request, which may be nil, and returns the answer.
func ask[Answer any](ctx context.Context, c *Client, method, path string, what any) (s Answer, err error) {
	var content io.Reader
	if what != nil {
		text, err := json.Marshal(what)
		if err != nil {
			return s, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://recording"+path, content)
	if err != nil {
		return s, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: %w", ErrNobody, err)
		}
		return s, fmt.Errorf("%s: %w", c.path, err)
	}
	defer func() { _ = response.Body.Close() }()
	body := json.NewDecoder(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode >= http.StatusMultipleChoices {
		var problem Problem
		if err := body.Decode(&problem); err != nil || problem.Error == "" {
			problem.Error = response.Status
		}
		return s, fmt.Errorf("%s: %w: %s", c.path, ErrRefused, problem.Error)
	}
	if err := body.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: the answer cannot be understood: %w", c.path, err)
	}
	return s, nil
}
