package view_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

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
	if err != nil || host != "127.0.0.1" || len(address.Query().Get("token")) < 26 {
		t.Errorf("the address is %s", s.URL())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	first, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if body := readAll(t, first); first.StatusCode != 200 || !strings.Contains(body, `<div id="app">`) {
		t.Errorf("the page: %d, %.100s", first.StatusCode, body)
	}
	got, err := client.Get("http://" + address.Host + "/api/recording")
	if err != nil {
		t.Fatal(err)
	}
	if body := readAll(t, got); got.StatusCode != 200 || !strings.Contains(body, `"levels"`) {
		t.Errorf("the recording: %d, %.100s", got.StatusCode, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if _, err := client.Get(s.URL()); err == nil {
		t.Error("it still answers")
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
