package probes

import "fmt"

// Unit is a part of a plan that is of use as a whole only. The kernel side counts the hits of each; a unit that is not needed can be detached
// while the rest goes on.
type Unit uint8

// Units have their event's number, but for these. The numbers are part of cookies: there are 32.
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

	// Units is how many there can be.
	Units = 32
)

// Unit returns the unit that the site belongs to.
func (s Site) Unit() Unit {
	switch {
	case s.Event.IsInit() || s.Event == EventLibraryLoad:
		return UnitEntities
	case s.Event == EventRclcppIntraPublish:
		return UnitIntraPublish
	case s.Event == EventExceptionCaught:
		return UnitExceptions
	case s.Event == EventServiceExecuted:
		return UnitServiceExecutions
	case s.Event == EventRclPublish && s.Form != FormArguments:
		return UnitOtherPublishes
	case s.Event == EventRMWTake:
		return unitOfTake(s.Form)
	}
	return Unit(s.Event)
}

func unitOfTake(form Form) Unit {
	switch form {
	case FormArguments:
		return Unit(EventRMWTake)
	case FormTakeEntry:
		return UnitTakeDetails
	case FormTakeLoanedEntry, FormTakeLoanedEntry + 1:
		return UnitLoanedTakes
	}
	return UnitSerializedTakes
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
	case UnitExceptions:
		return EventExceptionCaught.String()
	case UnitServiceExecutions:
		return EventServiceExecuted.String()
	}
	if entry, ok := Lookup(Event(u)); ok && !entry.Event.IsInit() {
		return entry.Name
	}
	return fmt.Sprintf("unit_%d", uint8(u))
}
