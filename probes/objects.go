package probes

import (
	"debug/elf"
	"fmt"
	"runtime"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/layouts"
)

// CommonObjects says where rcl, rmw, its implementations and rclcpp keep what the kernel side reads from their objects,
// in bytes. All distributions agree on these; one that did not would need parameters of sites.
type CommonObjects struct {
	PublisherImpl          uint64 // rcl_publisher_t.impl
	SubscriptionImpl       uint64 // rcl_subscription_t.impl
	ServiceImpl            uint64 // rcl_service_t.impl
	RMWIdentifier          uint64 // rmw_*_t.implementation_identifier
	RMWPublisherData       uint64 // rmw_publisher_t.data
	RMWClientData          uint64 // rmw_client_t.data
	MessageSourceTimestamp uint64 // rmw_message_info_t.source_timestamp
	MessagePublisherGID    uint64 // rmw_message_info_t.publisher_gid.data
	SerializedBuffer       uint64 // rcl_serialized_message_t.buffer
	CyclonePublisher       uint64 // CddsCS.pub
	CycloneHandle          uint64 // CddsPublisher.pubiid
	GroupType              uint64 // CallbackGroup.type_
}

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

// FindObjects returns the offsets on the machine that this program runs on.
func FindObjects() (CommonObjects, HumbleObjects, error) {
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if !known {
		return CommonObjects{}, HumbleObjects{}, fmt.Errorf("architecture %s: %w", runtime.GOARCH, layouts.ErrUnknown)
	}
	layout, err := layouts.For(string(distros.Humble), machine, nil)
	if err != nil {
		return CommonObjects{}, HumbleObjects{}, err
	}
	return commonObjects(layout), humbleObjects(layout), nil
}

func commonObjects(layout *layouts.Layout) CommonObjects {
	return CommonObjects{
		PublisherImpl:          layout.Publisher.Impl,
		SubscriptionImpl:       layout.Subscription.Impl,
		ServiceImpl:            layout.Service.Impl,
		RMWIdentifier:          layout.RMWIdentifier,
		RMWPublisherData:       layout.GID.PublisherData,
		RMWClientData:          layout.GID.ClientData,
		MessageSourceTimestamp: layout.MessageInfo.SourceTimestamp,
		MessagePublisherGID:    layout.MessageInfo.PublisherGID,
		SerializedBuffer:       layout.SerializedMessage.Buffer,
		CyclonePublisher:       layout.GID.CycloneClient,
		CycloneHandle:          layout.GID.CycloneHandle,
		GroupType:              layout.CallbackGroup.Type,
	}
}

func humbleObjects(layout *layouts.Layout) HumbleObjects {
	return HumbleObjects{
		GenericCallback:     layout.CallbackOf(layouts.OwnerSubscription),
		IntraGuardCondition: layout.SubscriptionIntraProcess.GuardCondition,
		IntraBuffer:         layout.SubscriptionIntraProcess.Buffer,
		IntraCallback:       layout.CallbackOf(layouts.OwnerSubscriptionIntraProcess),
		TypedBufferRing:     layout.SubscriptionIntraProcess.Ring,
		RingCapacity:        layout.SubscriptionIntraProcess.Capacity,
		ExecutableWaitable:  layout.AnyExecutable.Waitable,
		ExecutableData:      layout.AnyExecutable.Data,
	}
}
