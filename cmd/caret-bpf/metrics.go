package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/metrics"
	"github.com/caret-bpf/caret-bpf/session"
)

// socketPrefix begins the value of --metrics that is a Unix socket.
const socketPrefix = "unix:"

// listenForMetrics listens where --metrics says: at a Unix socket, or at a port of this machine alone. Names of nodes
// and topics are nobody else's business.
func listenForMetrics(c console, where string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(where, socketPrefix); ok {
		return control.Listen(path, c.caller, c.caller)
	}
	address, err := parseMetrics(where)
	if err != nil {
		return nil, fmt.Errorf("%w: --metrics: %w", errUsage, err)
	}
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w: choose another port", err)
	}
	return listener, nil
}

// parseMetrics reads an address of --metrics; that of a Unix socket is the zero one.
func parseMetrics(where string) (address netip.AddrPort, err error) {
	if strings.HasPrefix(where, socketPrefix) {
		return address, nil
	}
	address, err = netip.ParseAddrPort(where)
	if err != nil || !address.Addr().IsLoopback() {
		return address, fmt.Errorf("%q is neither unix:PATH nor an address of this machine alone, such as 127.0.0.1:9464", where)
	}
	return address, nil
}

// maxScrapers bounds the connections: everybody on the machine can make them, and each takes a descriptor.
const maxScrapers = 16

// serveMetrics answers scrapes until the function that it returns is called.
func serveMetrics(on net.Listener, m *metrics.Metrics) (stop func()) {
	answers := http.NewServeMux()
	handler := m.Handler()
	if _, anybody := on.Addr().(*net.TCPAddr); anybody { // a Unix socket knows who asks
		handler = forThisMachine(handler)
	}
	answers.Handle("GET /metrics", handler)
	server := &http.Server{Handler: answers, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(netutil.LimitListener(on, maxScrapers)) // that nobody can scrape is no reason to end a recording
	}()
	return func() {
		_ = server.Close()
		<-ended
	}
}

// forThisMachine refuses requests for other hosts: a page in a browser of this machine could have its own name lead
// here.
func forThisMachine(answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if host != "localhost" && (err != nil || !address.IsLoopback()) {
			http.Error(w, "this is for 127.0.0.1 only", http.StatusMisdirectedRequest)
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// metricsState is what metrics tell of a recording beside its rows.
func (r *controlled) metricsState() metrics.State {
	h := r.handle.Load()
	if h == nil {
		return metrics.State{}
	}
	now := h.Status()
	return metrics.State{
		Processes: now.Processes, Rows: now.Rows, Unarmed: now.Unarmed, Overhead: now.Overhead,
		BufferBytes: now.RingBytes, BufferPending: now.RingPending, BufferPeak: now.RingPeak, Triggers: h.Triggers(),
		Uploads: now.Uploads,
	}
}

// beginMetrics serves the metrics of a recording, and has them told of its rows.
func beginMetrics(c console, where string, of *controlled, observer *session.Observer) (stop func(), err error) {
	if where == "" {
		return func() {}, nil
	}
	listener, err := listenForMetrics(c, where)
	if err != nil {
		return nil, err
	}
	m := metrics.New(version, of.metricsState)
	observer.Rows = append(observer.Rows, m.Look)
	return serveMetrics(listener, m), nil
}
