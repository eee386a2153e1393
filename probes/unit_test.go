package probes

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// Every site of the catalogue has a unit that fits a cookie, with a name of its own.
func TestUnits(t *testing.T) {
	units := map[string]abi.Unit{}
	for _, entry := range Catalogue() {
		for _, source := range entry.Sources {
			forms := []abi.Form{source.Form}
			if source.ReturnOf != "" {
				forms = append(forms, source.Form+1)
			}
			for _, form := range forms {
				unit := Site{Event: entry.Event, Form: form}.Unit()
				if unit >= abi.HitUnits {
					t.Errorf("%s, form %d: unit %d", entry.Name, form, unit)
				}
				if entry.Event.IsInit() != (unit == abi.UnitEntities) {
					t.Errorf("%s: unit %v", entry.Name, unit)
				}
				if known, ok := units[unit.String()]; ok && known != unit {
					t.Errorf("units %d and %d are both %v", known, unit, unit)
				}
				units[unit.String()] = unit
			}
		}
	}
	for name, want := range map[string]abi.Unit{
		"callback_start": 1, "rmw_take": 10, "rclcpp_intra_publish": 8, "rcl_take": 20, "rcl_take_serialized_message": 21,
		"rcl_take_loaned_message": 22, "rcl_publish_serialized_message": 23, "entities": 0,
		"exception_caught": 24, "service_executed": 25,
	} {
		if got, ok := units[name]; !ok || got != want {
			t.Errorf("%s is unit %d, want %d", name, got, want)
		}
	}
	if got := abi.Unit(31).String(); got != "unit_31" {
		t.Errorf("an unknown unit is %q", got)
	}
}
