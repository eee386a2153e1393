package view

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ignoreDamage leaves out the error for damaged segments, which a query warns of.
func ignoreDamage(err error) error {
	var damaged *trace.DamageError
	if errors.As(err, &damaged) {
		return nil
	}
	return err
}
