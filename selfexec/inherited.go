package selfexec

import "sync"

// inherited is of the whole program, as its table of descriptors is. Between fork and exec a child has all of them, and
// what is closed here meanwhile stays open until the child lets go.
var inherited sync.RWMutex

// Begin keeps others from closing what has to be closed everywhere, until the function that it returns is called: when
// the helper that is begun has shown that it runs, or has ended. Then it has nothing of this program any more. Who is
// begun before there is anything to close needs none of this.
func Begin() (done func()) {
	inherited.Lock()
	return inherited.Unlock
}

// CloseEverywhere closes descriptors while no helper has copies of them: what Begin announces waits. Links have to be
// gone when they are closed.
func CloseEverywhere(closeAll func() error) error {
	inherited.RLock()
	defer inherited.RUnlock()
	return closeAll()
}
