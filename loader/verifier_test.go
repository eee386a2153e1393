package loader

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
)

// maxVerifiedInstructions is far below the million at which the kernel's verifier gives up: it counts what it walks
// through, which differs between kernels.
const maxVerifiedInstructions = 200_000

// TestEverySettingLoads: settings are constants to the verifier, so each combination of them is another program.
func TestEverySettingLoads(t *testing.T) {
	requireRoot(t)
	features := Probe()
	m, err := chooseMode(features, Options{})
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]uint32{}
	for bits := range 1 << 6 {
		options := Options{
			RingBytes: 4096,
			Raw:       bits&1 != 0, FilterProcesses: bits&2 != 0, FollowChildren: bits&4 != 0, ReportAllExecs: bits&4 != 0,
			FilterAddresses: bits&8 != 0, MessageStamps: bits&16 != 0, NoIntraProcess: bits&16 == 0, Scheduling: bits&32 != 0, SchedRecords: bits&1 != 0, OnlyListed: bits&2 != 0,
		}
		t.Run(fmt.Sprintf("%06b", bits), func(t *testing.T) { verifyPrograms(t, loadSpec(t), options, m, most) })
	}
	t.Logf("most instructions that the verifier walked through: %v", most)
}

func verifyPrograms(t *testing.T, spec *ebpf.CollectionSpec, options Options, m mode, most map[string]uint32) {
	t.Helper()
	if err := configure(spec, options, m); err != nil {
		t.Fatal(err)
	}
	collection, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(explainLoadError(err))
	}
	defer collection.Close()
	for name, program := range collection.Programs {
		verified := verifiedInstructions(t, program)
		if verified > maxVerifiedInstructions {
			t.Errorf("%s: the verifier walked through %d instructions, want at most %d", name, verified, maxVerifiedInstructions)
		}
		most[name] = max(most[name], verified)
	}
}

func verifiedInstructions(t *testing.T, program *ebpf.Program) uint32 {
	t.Helper()
	info, err := program.Info()
	if err != nil {
		t.Fatal(err)
	}
	verified, known := info.VerifiedInstructions()
	if !known {
		t.Fatal("the kernel does not tell how many instructions it verified")
	}
	return verified
}
