package layouts

import (
	"debug/elf"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
)

// released are the names of the distributions that must have layouts.
func released() (names []string) {
	for _, distro := range distros.Released() {
		names = append(names, string(distro))
	}
	return names
}

var machines = []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64}

func TestEveryDistroHasALayout(t *testing.T) {
	for _, distro := range released() {
		for _, machine := range machines {
			layout, err := For(distro, machine, nil)
			if err != nil {
				t.Errorf("%s %v: %v", distro, machine, err)
				continue
			}
			if layout.Distro != distro || layout.Machine != machine {
				t.Errorf("%s %v: layout says it is of %s %v", distro, machine, layout.Distro, layout.Machine)
			}
		}
		for _, name := range []string{"rcl", "rclcpp", "rmw"} {
			if Version(distro, name) == "" {
				t.Errorf("%s: no version of %s", distro, name)
			}
		}
	}
}

func TestForRefusesTheUnknown(t *testing.T) {
	for _, test := range []struct {
		distro  string
		machine elf.Machine
	}{{"foxy", elf.EM_X86_64}, {"", elf.EM_X86_64}, {"humble", elf.EM_RISCV}} {
		if _, err := For(test.distro, test.machine, nil); !errors.Is(err, ErrUnknown) {
			t.Errorf("For(%q, %v): error %v, want ErrUnknown", test.distro, test.machine, err)
		}
	}
	if version := Version("foxy", "rcl"); version != "" {
		t.Errorf("version of an unknown distribution is %q", version)
	}
}

// TestOffsetsArePlausible checks what holds for any layout: 8-byte members of objects smaller than a page, in which a
// callback follows the base class that it is a member beside of.
func TestOffsetsArePlausible(t *testing.T) {
	for _, distro := range released() {
		for _, machine := range machines {
			layout, err := For(distro, machine, nil)
			if err != nil {
				t.Fatal(err)
			}
			eachOffset(reflect.ValueOf(*layout), "", func(member string, offset uint64) {
				if offset%8 != 0 && member != "TimerBase.End" || offset >= 4096 {
					t.Errorf("%s %v: %s is at %d", distro, machine, member, offset)
				}
			})
			for _, owner := range layout.Owners {
				if aligned := (layout.TimerBase.End + 7) &^ 7; owner.Kind == OwnerTimer && owner.Callback != aligned {
					t.Errorf("%s %v: callback of a timer at %d, though its base ends at %d", distro, machine, owner.Callback, layout.TimerBase.End)
				}
				base := map[OwnerKind]uint64{
					OwnerSubscription:             layout.SubscriptionBase.SubscriptionHandle,
					OwnerSubscriptionIntraProcess: layout.SubscriptionIntraProcess.Buffer,
					OwnerTimer:                    layout.TimerBase.TimerHandle,
					OwnerService:                  layout.ServiceBase.ServiceHandle,
				}[owner.Kind]
				if owner.Callback <= base {
					t.Errorf("%s %v: callback of owner %d at %d is inside its base class", distro, machine, owner.Kind, owner.Callback)
				}
			}
		}
	}
}

// TestMutexesAreTheOnlyDifferenceBetweenArchitectures: the layouts of one distribution differ by 8 bytes for each
// pthread_mutex_t that precedes a member, of which no class here has more than three.
func TestMutexesAreTheOnlyDifferenceBetweenArchitectures(t *testing.T) {
	for _, distro := range released() {
		amd64, err := For(distro, elf.EM_X86_64, nil)
		if err != nil {
			t.Fatal(err)
		}
		arm64, err := For(distro, elf.EM_AARCH64, nil)
		if err != nil {
			t.Fatal(err)
		}
		other := make(map[string]uint64)
		eachOffset(reflect.ValueOf(*arm64), "", func(member string, offset uint64) { other[member] = offset })
		eachOffset(reflect.ValueOf(*amd64), "", func(member string, offset uint64) {
			if difference := other[member] - offset; difference != 0 && difference != 8 && difference != 16 && difference != 24 {
				t.Errorf("%s: %s at %d on amd64, %d on arm64", distro, member, offset, other[member])
			}
		})
	}
}

func TestTableHasNoGapsAndNoDuplicates(t *testing.T) {
	seen := make(map[string]bool)
	for line := range strings.Lines(offsetsCSV) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) != 2+2*len(released()) {
			t.Errorf("line %q has %d fields", line, len(fields))
		}
		key := fields[0] + "." + fields[1]
		if seen[key] {
			t.Errorf("%s appears twice", key)
		}
		seen[key] = true
	}
}

func TestOwnerMatches(t *testing.T) {
	layout, err := For("jazzy", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		typeName string
		want     OwnerKind
	}{
		{"N6rclcpp9WallTimerIZ4mainEUlvE_LPv0EEE", OwnerTimer},
		{"N6rclcpp12GenericTimerISt8functionIFvvEELPv0EEE", OwnerTimer},
		{"N6rclcpp12SubscriptionIN8std_msgs3msg7String_ISaIvEEES4_S5_S5_EE", OwnerSubscription},
		{"N6rclcpp19GenericSubscriptionE", OwnerSubscription},
		{"N6rclcpp12experimental24SubscriptionIntraProcessIN8std_msgs3msg7String_ISaIvEEEEE", OwnerSubscriptionIntraProcess},
		{"N6rclcpp7ServiceIN14rcl_interfaces3srv13GetParametersEEE", OwnerService},
		{"N6rclcpp16SubscriptionBaseE", 0},
		{"N6rclcpp19GenericSubscriptionEX", 0},
		{"N6rclcpp9WallTimer", 0},
		{"", 0},
	} {
		var got OwnerKind
		for _, owner := range layout.Owners {
			if owner.Matches(test.typeName) {
				if got != 0 {
					t.Errorf("%q matches two owners", test.typeName)
				}
				got = owner.Kind
			}
		}
		if got != test.want {
			t.Errorf("%q is of owner %d, want %d", test.typeName, got, test.want)
		}
	}
}

// eachOffset calls visit for every offset of a layout.
func eachOffset(value reflect.Value, path string, visit func(member string, offset uint64)) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			eachOffset(value.Field(i), path+"."+value.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		for i := range value.Len() {
			eachOffset(value.Index(i), path+"."+strconv.Itoa(i), visit)
		}
	case reflect.Uint64:
		visit(strings.TrimPrefix(path, "."), value.Uint())
	}
}
