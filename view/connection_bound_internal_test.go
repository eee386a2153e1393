package view

import (
	"context"
	"net"
	"net/http"
	"slices"
	"testing"
)

// The connection is closed of which nothing was heard for longest, but none on which who has the token is answered.
func TestConnectionBound(t *testing.T) {
	bound := &connectionBound{bound: 3}
	var closed []string
	connections := make(map[string]*namedConnection)
	change := func(name string, state http.ConnState) {
		if connections[name] == nil {
			connections[name] = &namedConnection{name: name, closed: &closed}
		}
		bound.changed(connections[name], state)
	}
	admitted := func(name string) { admit(bound.withConnection(context.Background(), connections[name])) }
	for _, name := range []string{"answered", "unread", "quiet"} {
		change(name, http.StateNew)
	}
	change("answered", http.StateActive)
	admitted("answered")
	change("unread", http.StateActive)
	for _, name := range []string{"first", "second"} {
		change(name, http.StateNew)
		change(closed[len(closed)-1], http.StateClosed)
	}
	if want := []string{"quiet", "unread"}; !slices.Equal(closed, want) {
		t.Errorf("closed are %v, want %v", closed, want)
	}
	for _, name := range []string{"first", "second"} {
		change(name, http.StateActive)
		admitted(name)
	}
	change("third", http.StateNew)
	change("third", http.StateClosed)
	if closed[len(closed)-1] != "third" {
		t.Errorf("where all are answered %v are closed", closed)
	}
	change("answered", http.StateIdle)
	change("fourth", http.StateNew)
	if closed[len(closed)-1] != "answered" {
		t.Errorf("of one that was answered and others %v are closed", closed)
	}
}

type namedConnection struct {
	net.Conn
	name   string
	closed *[]string
}

func (c *namedConnection) Close() error {
	*c.closed = append(*c.closed, c.name)
	return nil
}
