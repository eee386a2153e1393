package probes

import "github.com/caret-bpf/caret-bpf/bpf/abi"

// Unit returns the unit that the site belongs to.
func (s Site) Unit() abi.Unit {
	switch {
	case s.Event.IsInit() || s.Event == abi.EventLibraryLoad:
		return abi.UnitEntities
	case s.Event == abi.EventRclcppIntraPublish:
		return abi.UnitIntraPublish
	case s.Event == abi.EventRclPublish && s.Form != abi.FormArguments:
		return abi.UnitOtherPublishes
	case s.Event == abi.EventRMWTake:
		return unitOfTake(s.Form)
	}
	return abi.UnitOf(s.Event)
}

func unitOfTake(form abi.Form) abi.Unit {
	switch form {
	case abi.FormArguments:
		return abi.Unit(abi.EventRMWTake)
	case abi.FormTakeEntry:
		return abi.UnitTakeDetails
	case abi.FormTakeLoanedEntry, abi.FormTakeLoanedReturn:
		return abi.UnitLoanedTakes
	}
	return abi.UnitSerializedTakes
}
