package view_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
)

func readAll(t *testing.T, r *http.Response) string {
	t.Helper()
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A server answers at the loopback address to who opens its address, until it is told to end.
func TestServer(t *testing.T) {
	s, err := view.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, v, page) }()
	address, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(address.Host)
	token, ok := strings.CutPrefix(address.Fragment, "token=")
	if err != nil || host != "127.0.0.1" || !ok || len(token) < 26 {
		t.Errorf("the address is %s", s.URL())
	}
	for path, want := range map[string]string{"": `<div id="app">`, "api/recording": `"levels"`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.Host+"/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if body := readAll(t, got); got.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%q: %d, %.100s", path, got.StatusCode, body)
		}
	}
	holdConnections(t, address.Host)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.Host+"/api/recording", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: new(http.Transport), Timeout: time.Minute}
	if got, err := client.Do(request); err != nil || got.StatusCode != 200 {
		t.Errorf("while others hold connections: %v, %v", got, err)
	} else {
		readAll(t, got)
	}
	client.CloseIdleConnections()
	// A request of no page, which a server may answer by itself.
	asks, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = asks.Close() }()
	_, _ = io.WriteString(asks, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	if got, err := http.ReadResponse(bufio.NewReader(asks), nil); err != nil || got.StatusCode != http.StatusForbidden {
		t.Errorf("to another host: %v, %v", got, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("it still answers")
	}
}

// Who asks for a large page and does not read it keeps nobody out. An answer to who has the token is not cut off by
// others.
func TestUnreadPages(t *testing.T) {
	s, err := view.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	large := fstest.MapFS{"app.js": {Data: make([]byte, 16<<20)}}
	v := open(t, view.Options{Datasets: []*trace.Dataset{systemDataset(t, 2000)}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, v, large) }()
	address, token, _ := strings.Cut(strings.TrimPrefix(s.URL(), "http://"), "/#token=")
	for range 100 {
		held, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Close() }()
		_ = held.(*net.TCPConn).SetReadBuffer(4096) // so that the kernel keeps little of the page
		_, _ = io.WriteString(held, "GET /app.js HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
		if _, err := io.ReadFull(held, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/recording", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	if got, err := client.Do(request); err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("while nobody reads the page: %v, %v", got, err)
	} else {
		readAll(t, got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// holdConnections opens connections without a token and keeps them until the test ends: most ask for the page, some for
// nothing.
func holdConnections(t *testing.T, address string) {
	t.Helper()
	for i := range 100 {
		held, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = held.Close() })
		if i < 90 {
			_, _ = io.WriteString(held, "GET / HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
		}
	}
}

// Two servers have different tokens.
func TestTokensDiffer(t *testing.T) {
	tokens := make(map[string]bool)
	for range 3 {
		s, err := view.Listen(0)
		if err != nil {
			t.Fatal(err)
		}
		tokens[s.URL()[strings.Index(s.URL(), "token="):]] = true
		_ = s.Close()
	}
	if len(tokens) != 3 {
		t.Errorf("tokens: %v", tokens)
	}
}
