package loader

import "github.com/caret-bpf/caret-bpf/probes"

// stubKinds are the kinds of the instructions that the functions of calibration_arm64.s begin with, in the order of
// stubAddresses.
var stubKinds = [...]string{
	"call", "jump", "conditional jump", "return", "indirect call", "indirect jump", "address", startNop, endNop, probes.KindBTI, probes.KindMove, probes.KindSub,
}

func stubAddresses(table *[12]uintptr)
