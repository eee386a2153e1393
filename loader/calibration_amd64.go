package loader

import "github.com/caret-bpf/caret-bpf/probes"

// stubKinds are the kinds of the instructions that the functions of calibration_amd64.s begin with, in the order of
// stubAddresses.
var stubKinds = [...]string{
	"push", "call", "jump", "conditional jump", startNop, endNop, probes.KindEndbr64, probes.KindMove, probes.KindSub, probes.KindRet,
}

func stubAddresses(table *[10]uintptr)
