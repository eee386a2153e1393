package alike_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/alike"
)

func TestKind(t *testing.T) {
	for name, test := range map[string]struct {
		first, second string
		same          bool
	}{
		"another PID":                {"PID 12 is gone", "PID 345 is gone", true},
		"another name":               {"PID 12 (talker) has begun", "PID 345 (mt_nodes) has begun", true},
		"a name that is not told":    {"PID 12 (talker) has begun", "PID 345 has begun", true},
		"a name with a parenthesis":  {"PID 12 (a(b) has begun", "PID 345 (c) has begun", true},
		"a name that looks closed":   {"PID 12 (a)xy) has begun", "PID 345 (b)zw) has begun", true},
		"a name with a line break":   {"PID 12 (a\nb) has begun", "PID 345 (c) has begun", true},
		"a PID within":               {"librcl.so of PID 12: no", "librcl.so of PID 345: no", true},
		"another address":            {"0x7f12ab of PID 12", "0x55cd of PID 12", true},
		"another folder":             {"/opt/ros/humble/lib/librcl.so is late", "/ws/install/lib/librcl.so is late", true},
		"another folder, in quotes":  {`open "/a/b/librcl.so": no`, `open "/c/librcl.so": no`, true},
		"another file":               {"/opt/ros/lib/librcl.so is late", "/opt/ros/lib/librclcpp.so is late", false},
		"another reason":             {"PID 12: no such process", "PID 12: permission denied", false},
		"another reason behind both": {"PID 12 (a): no such process", "PID 345 (b): permission denied", false},
		"a relative path":            {"share/a/msg/Point.msg", "share/b/msg/Point.msg", false},
		"a share of two":             {"rcl/rclcpp", "rmw/rclcpp", false},
		"words in parentheses":       {"no librcl.so (Python)", "no librcl.so (C++)", false},
	} {
		t.Run(name, func(t *testing.T) {
			if first, second := alike.Kind(test.first), alike.Kind(test.second); (first == second) != test.same {
				t.Errorf("%q and %q", first, second)
			}
		})
	}
}

func TestGroup(t *testing.T) {
	for name, test := range map[string]struct{ texts, want []string }{
		"none":               {nil, nil},
		"different ones":     {[]string{"one", "other"}, []string{"one", "other"}},
		"the first is shown": {[]string{"PID 1 (a): no", "one", "PID 2 (b): no", "PID 3 (c): no"}, []string{"PID 1 (a): no (and 2 more of this kind)", "one"}},
		"what is counted already": {
			[]string{"PID 1: no", alike.And("PID 2: no", 40)}, []string{"PID 1: no (and 41 more of this kind)"},
		},
		"one that is counted":  {[]string{alike.And("PID 2: no", 40)}, []string{alike.And("PID 2: no", 40)}},
		"a count of nothing":   {[]string{"no", "no (and 0 more of this kind)"}, []string{"no", "no (and 0 more of this kind)"}},
		"a count that is none": {[]string{"no (and 99999999999999999999 more of this kind)"}, []string{"no (and 99999999999999999999 more of this kind)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := alike.Group(test.texts); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
