package probes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
)

func TestCatalogueIsWhole(t *testing.T) {
	var last abi.Event
	names := make(map[string]bool)
	for _, entry := range Catalogue() {
		if entry.Event <= last {
			t.Errorf("%s (%d) is out of order", entry.Name, entry.Event)
		}
		last = entry.Event
		if entry.Name == "" || names[entry.Name] || entry.Consequence == "" || len(entry.Arguments) == 0 && entry.Event != abi.EventServiceExecuted {
			t.Errorf("incomplete: %+v", entry)
		}
		names[entry.Name] = true
		if got, ok := Lookup(entry.Event); !ok || got.Name != entry.Name {
			t.Errorf("Lookup(%d) = %s, %v", entry.Event, got.Name, ok)
		}
		for _, distro := range distros.Released() {
			sources, absence := entry.sources(distro), entry.absence(distro)
			if explained := !strings.HasPrefix(absence, "no source is known"); explained == (len(sources) > 0) {
				t.Errorf("%s on %s: %d sources, absence %q", entry.Name, distro, len(sources), absence)
			}
		}
		for _, source := range entry.Sources {
			checkSource(t, entry, source)
		}
	}
}

func checkSource(t *testing.T, entry Entry, source Source) {
	t.Helper()
	if source.Shows == "" || len(source.Distros) == 0 {
		t.Errorf("%s: incomplete %+v", entry.Name, source)
	}
	if source.CarriedBy != 0 {
		return
	}
	if source.Library.String() == "" || source.Symbol == "" || source.Provenance == "" {
		t.Errorf("%s: incomplete %+v", entry.Name, source)
	}
	if isTracepoint := source.Library == LibraryTracetools; isTracepoint != (source.Provenance == FromTracepoint) ||
		isTracepoint != (source.Symbol == "ros_trace_"+entry.Name) {
		t.Errorf("%s: %s in %s is said to be a %s", entry.Name, source.Symbol, source.Library, source.Provenance)
	}
}

func TestRequiredEvents(t *testing.T) {
	var required []abi.Event
	for _, entry := range Catalogue() {
		if entry.Required {
			required = append(required, entry.Event)
		}
	}
	if !slices.Equal(required, []abi.Event{abi.EventCallbackStart, abi.EventCallbackEnd}) {
		t.Errorf("required: %v", required)
	}
}

func TestCatalogueOfOtherDistros(t *testing.T) {
	entry, _ := Lookup(abi.EventRMWPublish)
	if sources := entry.sources(distros.Rolling); len(sources) != 1 || sources[0].Form != abi.FormArguments {
		t.Errorf("rolling: %+v", sources)
	}
	if sources := entry.sources(distros.Unknown); len(sources) != 0 {
		t.Errorf("unknown distribution: %+v", sources)
	}
	if reason := entry.absence(distros.Unknown); !strings.Contains(reason, "not known") {
		t.Errorf("reason %q", reason)
	}
}

func TestCookie(t *testing.T) {
	for _, test := range []struct {
		site Site
		want uint64
	}{
		{Site{Event: abi.EventCallbackStart}, 1<<20 | 1},
		{Site{Event: abi.EventRclClientInit}, 32},
		{Site{Event: abi.EventRMWPublish, Form: abi.FormMessageOnly}, 5<<20 | 0x0105},
		{Site{Event: abi.EventRMWPublish, LastLayer: true}, 5<<20 | 0x1_0005},
		{Site{Event: abi.EventRMWTake, Form: abi.FormTakeEntry}, 20<<20 | 0x010a},
		{Site{Event: abi.EventDDSBindAddrToStamp, Parameter: 100, LastLayer: true}, 6<<20 | 100<<33 | 0x1_0006},
		{Site{Event: abi.EventDDSBindAddrToStamp, Form: abi.FormCycloneDDSWrite, LastLayer: true}, 6<<20 | 0x1_0106},
		{Site{Event: abi.EventRclClientInit, Cost: 700 * time.Nanosecond}, 350<<49 | 32},
		{Site{Event: abi.EventRclClientInit, Cost: time.Millisecond}, 0x3fff<<49 | 32},
		{Site{Event: 0x3f, Form: 0xff, Parameter: 0xffff, LastLayer: true, StackWords: -1}, 0xffff<<33 | 0xff<<25 | 0x01_ff3f},
	} {
		if got := test.site.Cookie(); got != test.want {
			t.Errorf("%+v: cookie %#x, want %#x", test.site, got, test.want)
		}
	}
}

func TestProgram(t *testing.T) {
	for event, want := range map[abi.Event]string{
		abi.EventCallbackStart: "on_callback_start", abi.EventDDSBindAddrToStamp: "on_dds_bind_addr_to_stamp",
		abi.EventExecutorExecute: "on_executor_execute", abi.EventRclInit: "on_init_event", abi.EventRclClientInit: "on_init_event",
	} {
		if got := (Site{Event: event}).Program(); got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

func TestEventText(t *testing.T) {
	for _, entry := range Catalogue() {
		text, err := entry.Event.MarshalText()
		if err != nil || string(text) != entry.Name {
			t.Errorf("%d: %q, %v", entry.Event, text, err)
		}
		var back abi.Event
		if err := back.UnmarshalText(text); err != nil || back != entry.Event {
			t.Errorf("%s: back %d, %v", text, back, err)
		}
	}
	var event abi.Event
	if err := event.UnmarshalText([]byte("nothing")); err == nil {
		t.Error("an unknown name is taken")
	}
	if got := abi.Event(200).String(); got != "event_200" {
		t.Errorf("unknown event %q", got)
	}
}

func TestLibraryVersion(t *testing.T) {
	for _, test := range []struct {
		library Library
		soname  string
		version string
		ok      bool
	}{
		{LibraryFastDDS2, "libfastrtps.so.2.6", "2.6", true},
		{LibraryFastDDS2, "libfastrtps.so", "", true},
		{LibraryFastDDS2, "libfastdds.so.3.2", "", false},
		{LibraryFastDDS3, "libfastdds.so.3.2", "3.2", true},
		{LibraryCycloneDDS, "libddsc.so.0debian", "0debian", true},
		{LibraryRcl, "librcl_action.so", "", false},
		{LibraryRcl, "librcl.so.debug", "debug", true},
		{LibraryRcl, "librcl.sox", "", false},
		{LibraryRcl, "", "", false},
	} {
		version, ok := test.library.version(test.soname)
		if version != test.version && test.ok || ok != test.ok {
			t.Errorf("%s in %q: %q, %v", test.library, test.soname, version, ok)
		}
	}
}
