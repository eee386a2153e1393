package view

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ignoreDamage leaves out the error for damaged segments: queries that need what they held warn of them.
func ignoreDamage(err error) error {
	var damaged *trace.DamageError
	if errors.As(err, &damaged) {
		return nil
	}
	return err
}
