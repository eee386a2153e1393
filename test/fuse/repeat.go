package fuse

import "testing"

// attempts are enough beside a few recorders of others. Beside other tests that record they are not: see
// scripts/run-tests.sh.
const attempts = 10

// Repeat runs a test anew while it fails: every recorder of the machine waits for who keeps his map, and the guard of
// another one may let him go before the guard that is tested does.
func Repeat(t *testing.T, test func() error) {
	t.Helper()
	var err error
	for range attempts {
		if err = test(); err == nil {
			return
		}
	}
	t.Error(err)
}
