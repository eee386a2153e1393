package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
)

// ErrNobody is returned for a socket that no recording serves.
var ErrNobody = errors.New("no recording is served there")

// ErrRefused is wrapped by errors of requests that a recording did not fulfil.
var ErrRefused = errors.New("the recording has refused")

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

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
	return c.ask(ctx, http.MethodGet, pathStatus)
}

// Flush returns when all that was recorded before the call is on disk.
func (c *Client) Flush(ctx context.Context) (Status, error) {
	return c.ask(ctx, http.MethodPost, pathFlush)
}

// Stop has the recording end, and does not wait for that.
func (c *Client) Stop(ctx context.Context) (Status, error) {
	return c.ask(ctx, http.MethodPost, pathStop)
}

func (c *Client) ask(ctx context.Context, method, path string) (s Status, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://recording"+path, nil)
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
