package abi_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// structures returns the Go types of the kernel side's structures.
func structures() map[string]any {
	all := map[string]any{
		"record_header":   abi.RecordHeader{},
		"feed":            abi.Feed{},
		"take_call":       abi.TakeCall{},
		"service_call":    abi.ServiceCall{},
		"intra_publisher": abi.IntraPublisher{},
		"sight":           abi.Sight{},
		"hit_count":       abi.HitCount{},
		"callback_frame":  abi.CallbackFrame{},
		"scheduling":      abi.Scheduling{},
		"other_thread":    abi.OtherThread{},
		"thread_state":    abi.ThreadState{},
		"process_address": abi.ProcessAddress{},
	}
	for kind := range abi.KindCount {
		if record := abi.RecordOf(kind); record != nil {
			all[kind.String()+"_record"] = record
		}
	}
	return all
}

// private are structures that the kernel side shares with nobody, or with the kernel. The tests' entrances take the
// first three.
var private = []string{
	"event", "ring_operation", "ring", "ring_history", "shown_subscription", "watched_thread", "scheduling_start",
	"pt_regs", "task_struct", "signal_struct", "signal_live", "bpf_raw_tracepoint_args",
}

// onlyHere are constants that the kernel side does not need.
var onlyHere = []string{"AnyEndpoint", "ReasonRecursion"}

func loadTypes(t *testing.T) *btf.Spec {
	t.Helper()
	spec, err := bpf.LoadCaret()
	if err != nil {
		t.Fatal(err)
	}
	return spec.Types
}

// TestStructures compares every structure of the compiled kernel side: sizes, offsets, names, no implicit padding.
func TestStructures(t *testing.T) {
	seen, structures := 0, structures()
	for kind := range loadTypes(t).All() {
		layout, ok := kind.(*btf.Struct)
		if !ok || layout.Name == "" || slices.Contains(private, layout.Name) { // unnamed ones are definitions of maps
			continue
		}
		t.Run(layout.Name, func(t *testing.T) {
			mirror, known := structures[layout.Name]
			if !known {
				t.Fatal("it is neither in Go nor private")
			}
			seen++
			compareStructure(t, layout, reflect.TypeOf(mirror))
		})
	}
	if seen != len(structures) {
		t.Errorf("%d of %d structures are in the object", seen, len(structures))
	}
}

func compareStructure(t *testing.T, layout *btf.Struct, mirrored reflect.Type) {
	t.Helper()
	if got, want := mirrored.Size(), uintptr(layout.Size); got != want {
		t.Errorf("size %d in Go, %d in C", got, want)
	}
	if got, want := mirrored.NumField(), len(layout.Members); got != want {
		t.Fatalf("%d fields in Go, %d in C", got, want)
	}
	end := uint32(0)
	for i, member := range layout.Members {
		field := mirrored.Field(i)
		if got, want := uint32(field.Offset), member.Offset.Bytes(); got != want {
			t.Errorf("%s: offset %d in Go, %d in C", member.Name, got, want)
		}
		if got, want := plain(field.Name), plain(member.Name); got != want {
			t.Errorf("field %d is %s in Go, %s in C", i, got, want)
		}
		size, err := btf.Sizeof(member.Type)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(field.Type.Size()); got != size {
			t.Errorf("%s: %d bytes in Go, %d in C", member.Name, got, size)
		}
		if member.Offset.Bytes() != end {
			t.Errorf("%s: implicit padding before it", member.Name)
		}
		end = member.Offset.Bytes() + uint32(size)
	}
	if end != layout.Size {
		t.Errorf("implicit padding at the end")
	}
}

// plain is what the spellings of a name in C and in Go have in common.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// TestNumbers: every enumerator of the kernel side is a constant here, and every constant an enumerator.
func TestNumbers(t *testing.T) {
	constants := packageConstants(t)
	spelled := make(map[string]string)
	for name := range constants {
		spelled[plain(name)] = name
	}
	inC := make(map[string]bool)
	for kind := range loadTypes(t).All() {
		enum, ok := kind.(*btf.Enum)
		if !ok {
			continue
		}
		if enum.Name == "" {
			t.Errorf("an enumeration without a name: %v", enum.Values)
		}
		for _, value := range enum.Values {
			name, known := spelled[plain(value.Name)]
			if !known {
				t.Errorf("%s of %s has no constant", value.Name, enum.Name)
				continue
			}
			inC[name] = true
			// An enumerator has 32 bits; a negative one is extended to 64 where it is used.
			if got := constants[name]; got != value.Value && got != uint64(int64(int32(value.Value))) {
				t.Errorf("%s is %d in Go, %s is %d in C", name, got, value.Name, value.Value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		if !inC[name] && !slices.Contains(onlyHere, name) {
			t.Errorf("%s is no enumerator of the kernel side", name)
		}
	}
}

// packageConstants reads the exported constants of this package's sources.
func packageConstants(t *testing.T) map[string]uint64 {
	t.Helper()
	set := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	// Imports are not needed for constants, and their absence is no matter.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("abi", set, files, nil)
	values := make(map[string]uint64)
	for _, name := range pkg.Scope().Names() {
		object, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !object.Exported() {
			continue
		}
		value, exact := constant.Uint64Val(constant.ToInt(object.Val()))
		if !exact {
			t.Errorf("%s is no unsigned number", name)
		}
		values[name] = value
	}
	return values
}

// TestNames: what has a number has a name, and what has not says so.
func TestNames(t *testing.T) {
	for kind := abi.KindCallback; kind < abi.KindCount; kind++ {
		if strings.HasPrefix(kind.String(), "kind_") {
			t.Errorf("%v has no name", kind)
		}
	}
	for reason := abi.ReasonRingFull; reason <= abi.ReasonMissed; reason++ {
		if strings.HasPrefix(reason.String(), "reason_") {
			t.Errorf("%v has no name", reason)
		}
	}
	if abi.ReasonRecursion.String() != "recursion" || abi.Kind(99).String() != "kind_99" || abi.Reason(9).String() != "reason_9" || abi.Event(200).String() != "event_200" {
		t.Error("names of what there is not")
	}
	for _, text := range []string{"", "event_1", "nothing"} {
		var event abi.Event
		if err := event.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, event)
		}
	}
	var event abi.Event
	if err := event.UnmarshalText([]byte("rcl_publish")); err != nil || event != abi.EventRclPublish {
		t.Errorf("rcl_publish is read as %v (%v)", event, err)
	}
}

// TestCostLeavesRoomForTheSet: a cost that is too large does not make a link one of the other set.
func TestCostLeavesRoomForTheSet(t *testing.T) {
	for cost, want := range map[uint16]uint64{0: 0, 700: 350, 701: 350, 0x7fff: 0x3fff, 0x8000: 0x3fff, 0xffff: 0x3fff} {
		if got := (abi.Cookie{CostNs: cost}).Pack(); got != want<<abi.CookieCostShift {
			t.Errorf("%d ns: cookie %#x, want %#x", cost, got, want<<abi.CookieCostShift)
		}
	}
}
