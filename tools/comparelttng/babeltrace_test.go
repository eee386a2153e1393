package main

import (
	"reflect"
	"strings"
	"testing"
)

func number(name string, value uint64) argument { return argument{name, true, value} }

func TestParseBabeltrace(t *testing.T) {
	const text = `[00000002806361729427] host ros2:rcl_init: { cpu_id = 0 }, { vpid = 31754, vtid = 31755 }, { context_handle = 0x557B2D232160, version = "8.2.5" }
[00000002806361729500] host lttng_ust_statedump:start: { cpu_id = 0 }, { vpid = 31754, vtid = 31754 }, { }
[2806364553234] ros2:rmw_publisher_init: { cpu_id = 1 }, { vtid = 3, vpid = 2 }, { rmw_publisher_handle = 0x557B2D3951B0, gid = [ [0] = 1, [1] = 15 ] }
[2806364590070] my-host ros2:rclcpp_callback_register: { cpu_id = 0 }, { vpid = 2, vtid = 2 }, { symbol = "void (A::*)(char const*) \"{ a = 1 }, { \\", callback = 0x1 }
[2806364590071] host ros2:rmw_take: { cpu_id = 0 }, { vpid = 2, vtid = 2 }, { rmw_subscription_handle = 0x0, message = 0xFFFFFFFFFFFFFFFF, source_timestamp = -5, taken = 0 }
[2806364590072] host ros2:rclcpp_executor_get_next_ready: { cpu_id = 0 }, { vpid = 2, vtid = 2 }, { }
`
	expected := []event{
		{thread{31754, 31755}, "rcl_init", 2806361729427, []argument{number("context_handle", 0x557B2D232160), {"version", false, 0}}},
		{thread{2, 3}, "rmw_publisher_init", 2806364553234, []argument{number("rmw_publisher_handle", 0x557B2D3951B0), {"gid", false, 0}}},
		{thread{2, 2}, "rclcpp_callback_register", 2806364590070, []argument{{"symbol", false, 0}, number("callback", 1)}},
		{thread{2, 2}, "rmw_take", 2806364590071, []argument{
			number("rmw_subscription_handle", 0), number("message", 1<<64-1), number("source_timestamp", 1<<64-5), number("taken", 0),
		}},
		{thread{2, 2}, "rclcpp_executor_get_next_ready", 2806364590072, nil},
	}
	events, err := parseBabeltrace(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(events, expected) {
		t.Errorf("%v", events)
	}
}

func TestParseBabeltraceErrors(t *testing.T) {
	for name, line := range map[string]string{
		"no context":          `[1] h ros2:callback_end: { cpu_id = 0 }, { callback = 0x1 }`,
		"no thread":           `[1] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1 }, { callback = 0x1 }`,
		"a clock in seconds":  `[1.000000001] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = 0x1 }`,
		"cut in a number":     `[1] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = 0x1`,
		"cut in a string":     `[1] h ros2:rcl_init: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { version = "8 }`,
		"cut in an array":     `[1] h ros2:rcl_init: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { gid = [ [0] = 1, }`,
		"cut behind a group":  `[1] h ros2:rcl_init: { cpu_id = 0 }, `,
		"an unknown value":    `[1] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = ( "A" : container = 1 ) }`,
		"too large a number":  `[1] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = 0x10000000000000000 }`,
		"text behind":         `[1] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = 0x1 } x`,
		"a clock that is off": `[99999999999999999999] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { }`,
	} {
		if events, err := parseBabeltrace(strings.NewReader(line)); err == nil {
			t.Errorf("%s: %v", name, events)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(`[1] h ros2:a: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { s = "x\"", g = [ [0] = 1, [1] = 2 ], n = -1, h = 0xF }`)
	f.Fuzz(func(t *testing.T, line string) {
		parsed, err := parseLine(line)
		if err == nil && (parsed.name == "" || parsed.pid == 0 || parsed.tid == 0 || len(parsed.arguments) > len(line)) {
			t.Errorf("%q: %+v", line, parsed)
		}
	})
}
