package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/metrics"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Metrics are for this machine: nobody else can ask, whatever name leads here.
func TestWhereMetricsAreServed(t *testing.T) {
	c := console{getenv: func(string) string { return "" }}
	for where, served := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "unix:" + filepath.Join(t.TempDir(), "m.sock"): true,
		"0.0.0.0:0": false, "192.0.2.1:9464": false, "localhost:0": false, ":9464": false, "9464": false, "unix": false, "127.0.0.1:99999": false,
	} {
		listener, err := listenForMetrics(c, where)
		if (err == nil) != served || err != nil && !errors.Is(err, errUsage) {
			t.Errorf("%s: %v", where, err)
		}
		if err == nil {
			_ = listener.Close()
		}
	}
	taken, err := listenForMetrics(c, "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = taken.Close() }()
	if _, err := listenForMetrics(c, taken.Addr().String()); err == nil || !strings.Contains(err.Error(), "choose another port") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// scrapeFor asks for metrics in the name of a host. Without an answer the code is 0.
func scrapeFor(t *testing.T, network, address, host string) (code int, text string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

const scanned = `caret_bpf_messages_published_total{node="",topic="/scan"} 1`

// At an address, requests for other hosts are refused. A Unix socket knows who asks.
func TestHostsOfScrapes(t *testing.T) {
	m := metrics.New("", func() metrics.State { return metrics.State{} })
	m.Look(&trace.Batch{Publishes: []trace.Publish{{TopicName: "/scan"}}})
	for network, others := range map[string]int{"tcp": http.StatusMisdirectedRequest, "unix": http.StatusOK} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "m.sock")
		}
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Skip(err)
		}
		stop := serveMetrics(listener, m)
		defer stop()
		for host, want := range map[string]int{"localhost": http.StatusOK, "127.0.0.1:9464": http.StatusOK, "[::1]": http.StatusOK, "rebound.example": others} {
			code, text := scrapeFor(t, network, listener.Addr().String(), host)
			if code != want || strings.Contains(text, scanned) != (want == http.StatusOK) {
				t.Errorf("%s for %s: %d, %s", network, host, code, text)
			}
		}
	}
}

func TestScraping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sock")
	observer := session.Observer{}
	stop, err := beginMetrics(console{getenv: func(string) string { return "" }}, "unix:"+path, new(controlled), &observer)
	if err != nil {
		t.Fatal(err)
	}
	observer.Rows[0](&trace.Batch{Publishes: []trace.Publish{{TopicName: "/scan"}}})
	if code, text := scrapeFor(t, "unix", path, "recording"); code != http.StatusOK || !strings.Contains(text, scanned) {
		t.Errorf("%d, %s", code, text)
	}
	stop()
	if code, _ := scrapeFor(t, "unix", path, "recording"); code != 0 {
		t.Error("it is answered after the end")
	}
	observer = session.Observer{}
	if stop, err = beginMetrics(console{}, "", new(controlled), &observer); err != nil || observer.Rows != nil {
		t.Errorf("without the flag: %v", err)
	}
	stop()
}
