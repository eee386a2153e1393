package target

import (
	"os"
	"os/exec"
	"testing"
)

// A process is its user's, and of nobody else; one that has ended is nobody's.
func TestIsOf(t *testing.T) {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _, _ = child.Process.Kill(), child.Wait() }
	t.Cleanup(end)
	p, err := NewFinder().Inspect(t.Context(), int32(child.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	own := uint32(os.Geteuid())
	if !p.IsOf(own) || p.IsOf(own+1) {
		t.Errorf("it is of its user: %v, of another one: %v", p.IsOf(own), p.IsOf(own+1))
	}
	end()
	if p.IsOf(own) {
		t.Error("it is over, and somebody's")
	}
}
