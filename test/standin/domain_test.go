package standin

import "testing"

// TestDomainIsHeld holds a domain while another is asked for, and again after it was given back.
func TestDomainIsHeld(t *testing.T) {
	var first int
	t.Run("held", func(t *testing.T) {
		first = Domain(t)
		if second := Domain(t); second == first {
			t.Errorf("domain %d twice", first)
		}
	})
	if again := Domain(t); again > first {
		t.Errorf("domain %d, although %d was given back", again, first)
	}
}
