package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"
)

const (
	// simultaneousRequests is the number of requests that are answered at once; others wait.
	simultaneousRequests = 16
	// simultaneousConnections is the number of connections that are open at once.
	simultaneousConnections = 64
	// headerTime is how long the header of a request may take, idleTime how long a connection may be idle.
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	// endingTime is how long requests may take that are under way when the server ends.
	endingTime = 2 * time.Second
)

// Server serves a page to the user who knows its token.
type Server struct {
	listener net.Listener
	server   *http.Server
	token    string
}

// Listen returns a server at a port of the loopback address, which no other machine reaches; 0 is any free port. Errors
// are those of the operating system.
func Listen(port int) (*Server, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, fmt.Sprint(port)))
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, token: newToken()}, nil
}

// URL returns the address of the page with the token behind #, which browsers send to no server.
func (s *Server) URL() string {
	return "http://" + s.listener.Addr().String() + "/#token=" + s.token
}

// Serve answers requests until the context ends, and returns nil then.
func (s *Server) Serve(ctx context.Context, v *View, page fs.FS) error {
	questions, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	connections := &connectionBound{bound: simultaneousConnections}
	s.server = &http.Server{
		Handler:           NewHandler(v, page, s.listener.Addr().(*net.TCPAddr).Port, s.token),
		ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxKeyBytes,
		ConnState:      connections.changed, ConnContext: connections.withConnection,
		DisableGeneralOptionsHandler: true, // which answers to any host
		BaseContext:                  func(net.Listener) context.Context { return questions },
	}
	go func() { _, _ = v.readIndex(questions) }() // the page will want it; if it fails, its question tells why
	failed := make(chan error, 1)
	go func() { failed <- s.server.Serve(s.listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	cancel() // nobody waits for a question that takes a minute
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), endingTime)
	defer stop()
	if err := s.server.Shutdown(ending); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.server.Close()
}

// Close ends a server that does not serve.
func (s *Server) Close() error { return s.listener.Close() }
