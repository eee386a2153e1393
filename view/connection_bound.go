package view

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// connectionBound bounds the connections that are open at once: for one more, the one is closed that has been quiet
// longest. So who has no token cannot keep others out by connections that ask nothing. If none is quiet, the new one is
// closed.
type connectionBound struct {
	bound int

	mutex sync.Mutex
	open  int
	quiet []net.Conn // that ask nothing, in the order in which that began
}

// changed takes note of what a connection does now, as http.Server tells it.
func (c *connectionBound) changed(of net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.quiet = slices.DeleteFunc(c.quiet, func(one net.Conn) bool { return one == of })
	switch state {
	case http.StateNew:
		if c.open++; c.open > c.bound {
			closed := of
			if len(c.quiet) > 0 {
				closed, c.quiet = c.quiet[0], append(c.quiet[1:], of)
			}
			_ = closed.Close() // the server takes note of its end
			return
		}
		c.quiet = append(c.quiet, of)
	case http.StateIdle:
		c.quiet = append(c.quiet, of)
	case http.StateClosed, http.StateHijacked:
		c.open--
	case http.StateActive:
	}
}
