package probes

import (
	"debug/elf"
	"fmt"
	"runtime"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/layouts"
)

// HumbleObjects says where Humble's rclcpp keeps what the kernel side reads from its objects, in bytes. No accessor
// function proves these offsets; those that one proves are parameters of the sites in its library.
type HumbleObjects struct {
	GenericCallback     uint64 // GenericSubscription::callback_
	IntraGuardCondition uint64 // SubscriptionIntraProcessBase::gc_
	IntraBuffer         uint64 // SubscriptionIntraProcessBuffer::buffer_
	IntraCallback       uint64 // SubscriptionIntraProcess::any_callback_
	TypedBufferRing     uint64 // TypedIntraProcessBuffer::buffer_
	RingCapacity        uint64 // RingBufferImplementation::capacity_
	ExecutableWaitable  uint64 // AnyExecutable::waitable
	ExecutableData      uint64 // AnyExecutable::data
}

// FindHumbleObjects returns the offsets on the machine that this program runs on.
func FindHumbleObjects() (HumbleObjects, error) {
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if !known {
		return HumbleObjects{}, fmt.Errorf("architecture %s: %w", runtime.GOARCH, layouts.ErrUnknown)
	}
	layout, err := layouts.For(string(distros.Humble), machine, nil)
	if err != nil {
		return HumbleObjects{}, err
	}
	return HumbleObjects{
		GenericCallback:     layout.CallbackOf(layouts.OwnerSubscription),
		IntraGuardCondition: layout.SubscriptionIntraProcess.GuardCondition,
		IntraBuffer:         layout.SubscriptionIntraProcess.Buffer,
		IntraCallback:       layout.CallbackOf(layouts.OwnerSubscriptionIntraProcess),
		TypedBufferRing:     layout.SubscriptionIntraProcess.Ring,
		RingCapacity:        layout.SubscriptionIntraProcess.Capacity,
		ExecutableWaitable:  layout.AnyExecutable.Waitable,
		ExecutableData:      layout.AnyExecutable.Data,
	}, nil
}
