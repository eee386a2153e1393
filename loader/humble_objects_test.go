package loader

import (
	"debug/elf"
	"runtime"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/layouts"
)

// TestHumbleOffsets compares the offsets that the kernel side reads Humble's objects at with those of the table.
func TestHumbleOffsets(t *testing.T) {
	spec, err := bpf.LoadCaret()
	if err != nil {
		t.Fatal(err)
	}
	var offsets *btf.Enum
	if err := spec.Types.TypeByName("humble_offset", &offsets); err != nil {
		t.Fatal(err)
	}
	layout, err := layouts.For("humble", map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH], layouts.Learned{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"PUBLISHER_BASE_HANDLE":    layout.PublisherBase.PublisherHandle,
		"SUBSCRIPTION_BASE_HANDLE": layout.SubscriptionBase.SubscriptionHandle,
		"INTRA_BUFFER":             layout.SubscriptionIntraProcess.Buffer,
		"TYPED_BUFFER_RING":        layout.SubscriptionIntraProcess.Ring,
	}
	for _, owner := range layout.Owners {
		if owner.Kind == layouts.OwnerSubscriptionIntraProcess {
			want["INTRA_CALLBACK"] = owner.Callback
		}
	}
	for _, value := range offsets.Values {
		if offset, known := want[value.Name]; !known || value.Value != offset {
			t.Errorf("%s is %d in C, %d in the table", value.Name, value.Value, offset)
		}
		delete(want, value.Name)
	}
	if len(want) > 0 {
		t.Errorf("not in C: %v", want)
	}
}
