package loader

import (
	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/probes"
)

// offsets returns the settings that say where ROS 2's objects have what the programs read.
func offsets() (map[string]any, error) {
	common, humble, err := probes.FindObjects()
	if err != nil {
		return nil, err
	}
	return map[string]any{
		bpf.CaretVarPublisherImplOffset:          common.PublisherImpl,
		bpf.CaretVarSubscriptionImplOffset:       common.SubscriptionImpl,
		bpf.CaretVarServiceImplOffset:            common.ServiceImpl,
		bpf.CaretVarRmwIdentifierOffset:          common.RMWIdentifier,
		bpf.CaretVarRmwPublisherDataOffset:       common.RMWPublisherData,
		bpf.CaretVarRmwClientDataOffset:          common.RMWClientData,
		bpf.CaretVarMessageSourceTimestampOffset: common.MessageSourceTimestamp,
		bpf.CaretVarMessagePublisherGidOffset:    common.MessagePublisherGID,
		bpf.CaretVarSerializedBufferOffset:       common.SerializedBuffer,
		bpf.CaretVarCyclonePublisherOffset:       common.CyclonePublisher,
		bpf.CaretVarCycloneHandleOffset:          common.CycloneHandle,
		bpf.CaretVarGroupTypeOffset:              common.GroupType,

		bpf.CaretVarGenericCallbackOffset:     humble.GenericCallback,
		bpf.CaretVarIntraGuardConditionOffset: humble.IntraGuardCondition,
		bpf.CaretVarIntraBufferOffset:         humble.IntraBuffer,
		bpf.CaretVarIntraCallbackOffset:       humble.IntraCallback,
		bpf.CaretVarTypedBufferRingOffset:     humble.TypedBufferRing,
		bpf.CaretVarRingCapacityOffset:        humble.RingCapacity,
		bpf.CaretVarExecutableWaitableOffset:  humble.ExecutableWaitable,
		bpf.CaretVarExecutableDataOffset:      humble.ExecutableData,
	}, nil
}
