package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/control"
)

// With --json the list has what the status says of each recording, and its socket: other programs need not read prose.
func TestListAsJSON(t *testing.T) {
	list := func(folder string) (listed []struct {
		Socket, State string
		PID           int
	}) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		c := newConsole(&stdout, &stderr, func(string) string { return "" })
		c.rootsSockets = folder
		if code := execute(t.Context(), c, []string{"ctl", "list", "--json"}); code != exitSuccess {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		if !strings.HasPrefix(stdout.String(), "[") {
			t.Errorf("it is no list: %s", stdout.String())
		}
		if err := json.Unmarshal(stdout.Bytes(), &listed); err != nil {
			t.Fatalf("%v: %s", err, stdout.String())
		}
		return listed
	}
	folder := t.TempDir()
	if listed := list(folder); len(listed) != 0 {
		t.Errorf("%+v", listed)
	}
	socket := filepath.Join(folder, "1.sock")
	listener, err := control.Listen(socket, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := control.Serve(listener, &spanAsked{}, func(error) bool { return false })
	defer func() { _ = server.Close() }()
	if listed := list(folder); len(listed) != 1 || listed[0].Socket != socket {
		t.Errorf("%+v", listed)
	}
}
