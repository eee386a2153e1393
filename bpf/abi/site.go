package abi

import (
	"fmt"
	"slices"
)

// Role is what a site sees of the function whose calls are an event.
type Role uint8

const (
	// RoleFunction: the function itself, which is all there is to see.
	RoleFunction Role = 0
	// RoleCaller: an instruction that calls the function.
	RoleCaller Role = 1
	// RoleBody: the function itself, beside callers. Where all callers are known it is not needed.
	RoleBody Role = 2
	// RoleReturn: an instruction that calls of the function return to.
	RoleReturn Role = 3
	// RoleOwnBody: a body for one process alone, where links are for every process.
	RoleOwnBody Role = 4
	// RoleOwnFunction: the function itself for one process alone, while links for every process may see it, too.
	RoleOwnFunction Role = 5
)

var roleNames = [...]string{
	RoleFunction: "function", RoleCaller: "caller", RoleBody: "body", RoleReturn: "return", RoleOwnBody: "own_body",
	RoleOwnFunction: "own_function",
}

// String is "function", "caller", "body", "return", "own_body" or "own_function".
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// MarshalText writes the name that String gives.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name that MarshalText wrote.
func (r *Role) UnmarshalText(text []byte) error {
	index := slices.Index(roleNames[:], string(text))
	if index < 0 {
		return fmt.Errorf("unknown role %.40q", text)
	}
	*r = Role(index)
	return nil
}

// Form tells the kernel program how a site presents the event's fields.
type Form uint8

// Forms of rmw_publish.
const (
	// FormArguments: the argument registers hold the tracepoint's arguments in order. It is every event's form 0.
	FormArguments Form = 0
	// FormMessageOnly: rmw_publish of Humble and Iron, whose only argument is the message.
	FormMessageOnly Form = 1
)

// Forms of rcl_publish beside FormArguments.
const (
	FormSerialized Form = 1
	FormLoaned     Form = 2
)

// Forms of rmw_take beside FormArguments: the entry of rcl's functions, and where the rmw function returns in them.
const (
	FormTakeEntry            Form = 1
	FormTakeSerializedEntry  Form = 2
	FormTakeSerializedReturn Form = 3
	FormTakeLoanedEntry      Form = 4
	FormTakeLoanedReturn     Form = 5
)

// FormGenericCallback is the form of callback_start and callback_end beside FormArguments: a member function of a
// generic subscription, whose rcl handle is at the site's parameter.
const FormGenericCallback Form = 1

// FormDerived is the form of intra-process events on Humble, which are concluded from functions of rclcpp.
const FormDerived Form = 1

// Forms of services: rcl's function, and where the rmw function has returned in it.
const (
	FormServiceEntry  Form = 0
	FormServiceReturn Form = 1
)

// Forms of construct_executor: the class whose constructor it is.
const (
	FormExecutorBase                 Form = 0
	FormSingleThreadedExecutor       Form = 1
	FormMultiThreadedExecutor        Form = 2
	FormStaticSingleThreadedExecutor Form = 3
	FormEventsExecutor               Form = 4
)

// Forms of dds_bind_addr_to_stamp.
const (
	// FormFastDDS: the second argument is a CacheChange_t; the site's parameter is the offset of its sourceTimestamp
	// (int32 seconds, uint32 fraction, uint32 nanoseconds).
	FormFastDDS Form = 0
	// FormCycloneDDSWrite: at the call of dds_write_impl in dds_write; the third argument is the timestamp in nanoseconds.
	FormCycloneDDSWrite Form = 1
	// FormCycloneDDSWriteStamp: dds_write_ts, whose third argument is the timestamp.
	FormCycloneDDSWriteStamp Form = 2
	// FormCycloneDDSSerdata: at the call of dds_writecdr_impl in dds_writecdr; the third argument is a ddsi_serdata, the
	// parameter the offset of its timestamp.
	FormCycloneDDSSerdata Form = 3
)

// Unit is a part of a plan that is of use as a whole only. The kernel side counts the hits of each; a unit that is not
// needed can be detached while the rest goes on.
type Unit uint8

// Units have their event's number, but for these, and for those of events behind the initializations (UnitOf). The
// numbers are part of cookies: there are HitUnits.
const (
	// UnitEntities: initialization events and the like, which are rare.
	UnitEntities Unit = 0
	// UnitIntraPublish: rclcpp_intra_publish and the enqueues that it counts.
	UnitIntraPublish = Unit(EventRclcppRingBufferEnqueue)
	// UnitTakeDetails: the entry of rcl_take, for what rmw_take does not tell.
	UnitTakeDetails Unit = 20
	// UnitSerializedTakes and UnitLoanedTakes: the functions of rcl for such takes.
	UnitSerializedTakes Unit = 21
	UnitLoanedTakes     Unit = 22
	// UnitOtherPublishes: the functions of rcl for publishes of serialized and loaned messages.
	UnitOtherPublishes Unit = 23
	// UnitExceptions: __cxa_begin_catch.
	UnitExceptions Unit = 24
	// UnitServiceExecutions: behind calls of Executor::execute_service.
	UnitServiceExecutions Unit = 25
)

// UnitOf returns the unit of an event of the running system that has one of its own.
func UnitOf(e Event) Unit {
	if e >= EventExceptionCaught {
		return UnitExceptions + Unit(e-EventExceptionCaught)
	}
	return Unit(e)
}

// String returns the name of the unit's event, or of the function that it probes.
func (u Unit) String() string {
	switch u {
	case UnitEntities:
		return "entities"
	case UnitIntraPublish:
		return "rclcpp_intra_publish"
	case UnitTakeDetails:
		return "rcl_take"
	case UnitSerializedTakes:
		return "rcl_take_serialized_message"
	case UnitLoanedTakes:
		return "rcl_take_loaned_message"
	case UnitOtherPublishes:
		return "rcl_publish_serialized_message"
	}
	e := Event(u)
	if u >= UnitExceptions {
		e = EventExceptionCaught + Event(u-UnitExceptions)
	}
	if int(e) < len(eventNames) && eventNames[e] != "" && !e.IsInit() {
		return e.String()
	}
	return fmt.Sprintf("unit_%d", uint8(u))
}
