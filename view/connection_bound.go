package view

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// connectionBound bounds the connections that are open at once: for one more, the one is closed of which nothing was
// heard for longest, but none on which who has the token is answered. So who has no token cannot keep others out, by
// connections that ask nothing or by such that do not read the page that they ask for. If there is none to close, the
// new one is closed.
type connectionBound struct {
	bound int

	mutex   sync.Mutex
	open    int
	closing []net.Conn // those that may be closed, in that order
}

// connectionKey is that of the connection and its bound in the context of a request.
type connectionKey struct{}

type boundConnection struct {
	*connectionBound
	net.Conn
}

// withConnection lets admit find the connection of a request, as http.Server.ConnContext does.
func (c *connectionBound) withConnection(ctx context.Context, of net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, boundConnection{c, of})
}

// admit keeps the connection of a request, whoever else comes, until the request is answered.
func admit(request context.Context) {
	if c, ok := request.Value(connectionKey{}).(boundConnection); ok { // a test's request has none
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.forget(c.Conn)
	}
}

func (c *connectionBound) forget(of net.Conn) {
	c.closing = slices.DeleteFunc(c.closing, func(one net.Conn) bool { return one == of })
}

// changed takes note of what a connection does now, as http.Server tells it.
func (c *connectionBound) changed(of net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.forget(of)
	switch state {
	case http.StateNew:
		if c.open++; c.open > c.bound {
			closed := of
			if len(c.closing) > 0 {
				closed, c.closing = c.closing[0], append(c.closing[1:], of)
			}
			_ = closed.Close() // the server takes note of its end
			return
		}
		c.closing = append(c.closing, of)
	case http.StateActive, http.StateIdle:
		c.closing = append(c.closing, of)
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
}
