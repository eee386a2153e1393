package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
)

// ErrSocket is wrapped by errors of a path at which no socket can be made.
var ErrSocket = errors.New("no control socket can be made there")

// Listen makes a socket with the rights of a user. Its owner alone may connect to it, besides root and the program's
// own user. A socket that nobody serves any more is replaced; nothing else is.
func Listen(path string, as, owner *identity.Identity) (net.Listener, error) {
	var made *net.UnixListener
	err := as.Run(func() error {
		err := RemoveAbandoned(path)
		if err != nil {
			return err
		}
		if made, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
			return err
		}
		made.SetUnlinkOnClose(false) // that would be with the program's rights
		// Until then others may have connected: whoever they are is looked at anyway.
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		if as.ID() == owner.ID() {
			return nil
		}
		return os.Lchown(path, owner.ID(), -1)
	})
	l := &listener{UnixListener: made, users: []uint32{0, uint32(os.Geteuid()), uint32(owner.ID())}, path: path, as: as}
	if err != nil {
		if made != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, fmt.Errorf("%s: %w: %w", path, ErrSocket, err)
	}
	return l, nil
}

// RemoveAbandoned removes a socket to which nobody listens, as a killed recorder leaves it. It fails if there is
// something else.
func RemoveAbandoned(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is something else")
	}
	served, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		_ = served.Close()
		return errors.New("another recording is served there")
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// listener accepts connections of some users only. What a stranger sends is not read.
type listener struct {
	*net.UnixListener
	users []uint32
	path  string
	as    *identity.Identity
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		connection, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if user, err := peer(connection); err == nil && slices.Contains(l.users, user) {
			return connection, nil
		}
		_ = connection.Close()
	}
}

// Close also removes the socket, with the rights by which it was made.
func (l *listener) Close() error {
	err := l.UnixListener.Close()
	return errors.Join(err, l.as.Run(func() error {
		if err := os.Remove(l.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}))
}

// asker is the key of the user who asks, in the context of a connection.
type asker struct{}

// withAsker notes who is at the other end of a connection.
func withAsker(ctx context.Context, connection net.Conn) context.Context {
	if c, ok := connection.(syscall.Conn); ok {
		if user, err := peer(c); err == nil {
			return context.WithValue(ctx, asker{}, user)
		}
	}
	return ctx
}

// askerOf returns who asks; nobody if that is not known.
func askerOf(ctx context.Context) uint32 {
	if user, ok := ctx.Value(asker{}).(uint32); ok {
		return user
	}
	return nobody
}

// nobody is the user whom the kernel shows where there is none.
const nobody = 65534

// peer returns the user of a connection's other end, as the kernel tells (SO_PEERCRED).
func peer(connection syscall.Conn) (user uint32, err error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlError := raw.Control(func(descriptor uintptr) {
		var credentials *unix.Ucred
		if credentials, err = unix.GetsockoptUcred(int(descriptor), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			user = credentials.Uid
		}
	})
	return user, errors.Join(controlError, err)
}
