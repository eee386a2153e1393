package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

// outputDelay is how long the output of a program is waited for that has ended: what it has started may still hold it.
const outputDelay = time.Second

// Run runs a program as a user, without arguments and with nothing of what the recorder may do and has open, and waits
// until it ends. When ctx ends, its process group is killed. The error says what became of it.
func Run(ctx context.Context, as *identity.Identity, path string, environment []string) error {
	c := exec.Command(path)
	c.Env, c.Dir, c.WaitDelay = environment, "/", outputDelay
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := startAs(c, as); err != nil {
		return fmt.Errorf("%w: %w", ErrCommand, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the program has failed: %w", err)
		}
		return nil
	case <-ctx.Done():
		err := unix.Kill(-c.Process.Pid, unix.SIGKILL)
		<-ended
		return errors.Join(fmt.Errorf("the program was killed: %w", ctx.Err()), err)
	}
}
