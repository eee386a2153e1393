package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/tools/busy"
)

func TestResults(t *testing.T) {
	r := newResults(busy.System{Name: "stand-in", RMW: "rmw"}, []way{{name: nameFloor}, {name: nameStandard}, {name: nameLTTng}})
	for _, load := range workloads {
		r.untraced[load] = []float64{1000}
	}
	for _, each := range [][2]float64{{100, 350}, {110, 310}, {900, 1000}} {
		r.add(nameFloor, busy.Callback, each[0], 0)
		r.add(nameFloor, busy.CallbackWithPublish, each[1], 0)
		r.add(nameFloor, busy.Subscription, 2*each[1], 0)
		r.add(nameStandard, busy.Callback, 2*each[0], 1)
		r.add(nameStandard, busy.CallbackWithPublish, 3*each[1], 0)
		r.add(nameStandard, busy.Subscription, 4*each[1], 0)
	}
	r.failed[nameLTTng] = errors.New("no daemon")
	for _, c := range []struct {
		way  string
		part int
		want float64
	}{{nameFloor, 0, 110}, {nameFloor, 1, 200}, {nameFloor, 2, 350}, {nameStandard, 0, 220}, {nameStandard, 1, 850}, {nameStandard, 2, 1050}, {nameFloor, 3, 450}, {nameStandard, 3, 550}} {
		if got, ok := r.median(c.way, parts[c.part]); !ok || got != c.want {
			t.Errorf("%s, %s: %v, %v, want %v", c.way, parts[c.part].name, got, ok, c.want)
		}
	}
	if got := r.ratio(nameStandard, nameFloor, parts[2]); got != "3.00" {
		t.Error(got)
	}
	if got := r.ratio(nameLTTng, nameStandard, parts[0]); got != "-" {
		t.Error(got)
	}
	var text strings.Builder
	r.print(&text)
	for _, want := range []string{"medians of 3 rounds", "LTTng was not measured: no daemon", "callback 2.00 publish 4.25 both 3.00"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, &text)
		}
	}
}
