package loader

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// Regard takes back an Ignore: another object has taken the address.
func (l *Loader) Regard(process int32, address uint64) error {
	err := l.collection.Maps["ignored_addresses"].Delete(addressKey{Address: address, Process: uint32(process)})
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("regarding %#x of PID %d again: %w", address, process, err)
	}
	return nil
}
