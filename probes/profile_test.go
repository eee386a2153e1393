package probes

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// running are the events of a plan that are not of entities.
func running(plan *Plan) []abi.Event {
	return slices.DeleteFunc(eventsOf(plan.Sites), abi.Event.IsInit)
}

func TestMinimalProfile(t *testing.T) {
	atStamp := []abi.Event{
		abi.EventCallbackStart, abi.EventCallbackEnd, abi.EventRclPublish, abi.EventDDSBindAddrToStamp, abi.EventRMWTake, abi.EventExecutorExecute,
		abi.EventRequestSent, abi.EventRequestTaken, abi.EventResponseSent, abi.EventResponseTaken, abi.EventServiceExecuted,
	}
	for name, test := range map[string]struct {
		libraries []fixture
		want      []abi.Event
		last      abi.Event
		partial   []abi.Unit // of events that are observed
	}{
		"humble with Fast DDS": {
			[]fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwFastDDS, fastDDS}, atStamp, abi.EventDDSBindAddrToStamp,
			[]abi.Unit{abi.UnitTakeDetails},
		},
		"humble with Zenoh": {
			[]fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwZenoh},
			slices.DeleteFunc(slices.Clone(atStamp), func(e abi.Event) bool { return e == abi.EventDDSBindAddrToStamp }), abi.EventRclPublish, []abi.Unit{abi.UnitTakeDetails},
		},
		"jazzy": {
			[]fixture{tracetools("jazzy"), rclOfJazzy, rclcpp("jazzy"), rmwCyclone, cycloneDDS},
			[]abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd, abi.EventRMWPublish, abi.EventRMWTake, abi.EventExecutorExecute, abi.EventServiceExecuted}, abi.EventRMWPublish,
			[]abi.Unit{abi.UnitTakeDetails, abi.UnitSerializedTakes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.libraries...)
			standard, err := NewPlan(t.Context(), p.process, Options{})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := NewPlan(t.Context(), p.process, Options{Profile: ProfileMinimal})
			if err != nil {
				t.Fatal(err)
			}
			if got := running(plan); !slices.Equal(got, test.want) {
				t.Errorf("sites of %v\nwant     %v", got, test.want)
			}
			if got := slices.Compact(lastLayers(plan)); !slices.Equal(got, []abi.Event{test.last}) {
				t.Errorf("last layers %v, want %v", got, test.last)
			}
			if index := slices.IndexFunc(plan.Sites, func(s Site) bool { return s.Optional }); index >= 0 {
				t.Errorf("is in the plan: %+v", plan.Sites[index])
			}
			missing := missingOf(plan)
			for _, event := range append(running(standard), abi.EventRclcppRingBufferDequeue) {
				if !slices.Contains(test.want, event) && !strings.Contains(missing[event], "the profile minimal") {
					t.Errorf("%s is missing because of %q", event, missing[event])
				}
			}
			checkLeftUnits(t, plan, test.partial)
		})
	}
}

// TestFullProfile: it probes what the standard profile does, and where executors wait. Others do not say that they lack
// it: who wants it asks for it.
func TestFullProfile(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("jazzy"), rclOfJazzy, rclcpp("jazzy"), rmwCyclone, cycloneDDS)
	plans := make(map[Profile]*Plan)
	for _, profile := range Profiles() {
		plan, err := NewPlan(t.Context(), p.process, Options{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		plans[profile] = plan
	}
	isWait := func(site Site) bool { return site.Event == abi.EventWait }
	if got, want := len(slices.DeleteFunc(slices.Clone(plans[ProfileFull].Sites), isWait)), len(plans[ProfileStandard].Sites); got != want {
		t.Errorf("full has %d sites beside its own, standard %d", got, want)
	}
	for _, profile := range Profiles() {
		var roles []abi.Role
		for _, site := range plans[profile].Sites {
			if isWait(site) {
				roles = append(roles, site.Role)
			}
		}
		want := []abi.Role(nil)
		if profile == ProfileFull {
			want = []abi.Role{abi.RoleReturn, abi.RoleFunction}
		}
		if !slices.Equal(roles, want) {
			t.Errorf("%s: waits are seen at %v, want %v", profile, roles, want)
		}
		if reason, missing := missingOf(plans[profile])[abi.EventWait]; missing {
			t.Errorf("%s: waits are missing: %s", profile, reason)
		}
	}
}

// checkLeftUnits requires that of observed events just these units are said to be left out, with the consequence that
// the catalogue tells.
func checkLeftUnits(t *testing.T, plan *Plan, want []abi.Unit) {
	t.Helper()
	var got []string
	for _, missing := range plan.Missing {
		if unit, reason, ok := strings.Cut(missing.Reason, ": "); ok && missing.Partial && strings.Contains(reason, "the profile minimal") {
			got = append(got, unit)
			if missing.Event == abi.EventRMWTake && !strings.HasPrefix(missing.Consequence, "takes ") {
				t.Errorf("%+v", missing)
			}
		}
	}
	var names []string
	for _, unit := range want {
		names = append(names, unit.String())
	}
	if !slices.Equal(got, names) {
		t.Errorf("left out %q, want %q", got, names)
	}
}

// What may be left later is what the minimal profile lacks, and never what ends publishes.
func TestOptionalSites(t *testing.T) {
	for name, test := range map[string]struct {
		libraries []fixture
		needed    []abi.Event
	}{
		"humble with Cyclone DDS": {
			[]fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwCyclone, cycloneDDS},
			[]abi.Event{
				abi.EventCallbackStart, abi.EventCallbackEnd, abi.EventRclPublish, abi.EventDDSBindAddrToStamp, abi.EventRMWTake, abi.EventExecutorExecute,
				abi.EventRequestSent, abi.EventRequestTaken, abi.EventResponseSent, abi.EventResponseTaken, abi.EventServiceExecuted,
			},
		},
		"humble with Zenoh": { // where rmw_publish is the last layer
			[]fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwZenoh},
			[]abi.Event{
				abi.EventCallbackStart, abi.EventCallbackEnd, abi.EventRclPublish, abi.EventRMWPublish, abi.EventRMWTake, abi.EventExecutorExecute,
				abi.EventRequestSent, abi.EventRequestTaken, abi.EventResponseSent, abi.EventResponseTaken, abi.EventServiceExecuted,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.libraries...)
			plan, err := NewPlan(t.Context(), p.process, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, site := range plan.Sites {
				needed := site.Event.IsInit() || slices.Contains(test.needed, site.Event) && site.Unit() != abi.UnitTakeDetails
				if site.Optional == needed {
					t.Errorf("%s (%s) is optional: %v", site.Event, site.Unit(), site.Optional)
				}
			}
		})
	}
}

func TestOmit(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("jazzy"), rclOfJazzy, rclcpp("jazzy"), rmwCyclone, cycloneDDS)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := len(plan.Missing)
	leave := func(site Site) bool { return site.Unit() == abi.UnitIntraPublish || site.Unit() == abi.UnitTakeDetails }
	plan.Omit(leave, "for a reason")
	if slices.ContainsFunc(plan.Sites, leave) {
		t.Error("the plan still has them")
	}
	var got []Missing
	for _, missing := range plan.Missing[before:] {
		missing.Consequence = ""
		got = append(got, missing)
	}
	want := []Missing{
		{Event: abi.EventRclcppIntraPublish, Reason: "for a reason"},
		{Event: abi.EventRclcppRingBufferEnqueue, Reason: "for a reason"},
		{Event: abi.EventRMWTake, Reason: "rcl_take: for a reason", Partial: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	plan.Omit(leave, "again")
	if len(plan.Missing) != before+len(want) {
		t.Error("what is left out already is told again")
	}
}
