package launch

import (
	"fmt"
	"os/exec"

	"github.com/caret-bpf/caret-bpf/identity"
)

// Begin begins a program as a user, as Run does, without waiting for it: whoever calls says what it reads and writes,
// waits for it, and ends it.
func Begin(as *identity.Identity, c *exec.Cmd) error {
	if err := startAs(c, as); err != nil {
		return fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return nil
}
