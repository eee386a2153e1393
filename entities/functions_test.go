package entities

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// code puts a function into the image's file.
func (m *image) code(body []byte, names ...string) uint64 {
	at := m.allocate(&m.file, len(body))
	copy(m.file.data[at-m.file.start:], body)
	m.functions[at] = Function{
		Start: at, End: at + uint64(len(body)), Module: "libtalker.so", Offset: at - m.file.start, Names: names,
	}
	return at
}

// reference says how code names a type_info: it computes the address, or loads it from a slot of the global offset
// table.
type reference bool

const (
	computes reference = false
	loads    reference = true
)

// manager makes a std::function's manager, as GCC compiles it, for a target of a type.
func (m *image) manager(typeName string, how reference) uint64 {
	target := m.typeInfo(typeName)
	if how == loads {
		slot := m.allocate(&m.file, 8)
		m.set(slot, target)
		target = slot
	}
	if m.layout.Machine == elf.EM_AARCH64 {
		return m.managerARM64(target, how)
	}
	body := []byte{
		0xf3, 0x0f, 0x1e, 0xfa, // endbr64
		0x85, 0xd2, // test edx,edx
		0x75, 0x0b, // jne +11
		0x48, 0x8d, 0x05, 0, 0, 0, 0, // lea rax,[rip+…]
		0x48, 0x89, 0x07, // mov [rdi],rax
		0x31, 0xc0, // xor eax,eax
		0xc3, // ret
	}
	if how == loads {
		body[9] = 0x8b // mov rax,[rip+…]
	}
	at := m.code(body)
	binary.LittleEndian.PutUint32(m.file.data[at-m.file.start+11:], uint32(target-at-15))
	return at
}

func (m *image) managerARM64(target uint64, how reference) uint64 {
	at := m.code(make([]byte, 20))
	pages := uint32((target>>12 - at>>12) & 0x1fffff)
	offset := uint32(target & 0xfff)
	second := 0x91000108 | offset<<10 // add x8, x8, #offset
	if how == loads {
		second = 0xf9400108 | offset/8<<10 // ldr x8, [x8, #offset]
	}
	for i, instruction := range []uint32{
		0x350000a2,                             // cbnz w2, …
		0x90000008 | pages&3<<29 | pages>>2<<5, // adrp x8, …
		second,                                 //
		0xf9000008,                             // str x8, [x0]
		0xd65f03c0,                             // ret
	} {
		binary.LittleEndian.PutUint32(m.file.data[at-m.file.start+uint64(4*i):], instruction)
	}
	return at
}

// function makes a std::function.
func (m *image) function(manager, invoker uint64, storage ...uint64) trace.Address {
	at := m.allocate(&m.heap, 48)
	for i, word := range storage {
		m.set(at+8*uint64(i), word)
	}
	m.set(at+functionManager, manager)
	m.set(at+functionInvoker, invoker)
	return trace.Address(at)
}

// words puts words into the heap.
func (m *image) words(words ...uint64) uint64 {
	at := m.allocate(&m.heap, 8*len(words))
	for i, word := range words {
		m.set(at+8*uint64(i), word)
	}
	return at
}

const (
	lambdaType  = "ZN6TalkerC4EvEUliE_"
	pointerType = "PFviE"
	memberBind  = "St5_BindIFM6TalkerFviEPS0_St12_PlaceholderILi1EEEE"
	pointerBind = "St5_BindIFPFviESt12_PlaceholderILi1EEEE"
)

func TestFunctionNames(t *testing.T) {
	for name, test := range map[string]struct {
		function func(m *image, how reference) trace.Address
		want     string
	}{
		"lambda": {func(m *image, how reference) trace.Address {
			return m.function(m.manager(lambdaType, how), 0, 0x1234)
		}, "Talker::Talker()::{lambda(int)#1}"},
		"lambda of one translation unit": {func(m *image, how reference) trace.Address {
			return m.function(m.manager("*Z4mainEUliE_", how), 0, 0x1234)
		}, "main::{lambda(int)#1}"},
		"pointer": {func(m *image, how reference) trace.Address {
			return m.function(m.manager(pointerType, how), 0, m.code(make([]byte, 8), "_Z7on_texti"))
		}, "on_text(int)"},
		"pointer to a function without a name": {func(m *image, how reference) trace.Address {
			target := m.code(make([]byte, 8))
			f := m.functions[target]
			f.Offset = 0x1230
			m.functions[target] = f
			return m.function(m.manager(pointerType, how), 0, target)
		}, "libtalker.so+0x1230"},
		"pointer to nothing": {func(m *image, how reference) trace.Address {
			return m.function(m.manager(pointerType, how), 0, 0x1234)
		}, "void (*)(int)"},
		"bound pointer": {func(m *image, how reference) trace.Address {
			return m.function(m.manager(pointerBind, how), 0, m.code(make([]byte, 8), "_Z7on_texti"))
		}, "on_text(int)"},
		"bound member": {func(m *image, how reference) trace.Address {
			return m.function(m.manager(memberBind, how), 0, m.words(m.code(make([]byte, 8), "_ZN6Talker7on_textEi"), 0, m.object()))
		}, "Talker::on_text(int)"},
		"bound member without a name": {func(m *image, how reference) trace.Address {
			target := m.code(make([]byte, 8))
			f := m.functions[target]
			f.Offset = 0x1230
			m.functions[target] = f
			return m.function(m.manager(memberBind, how), 0, m.words(target, 0, m.object()))
		}, "std::_Bind<void (Talker::*(Talker*, std::_Placeholder<1>))(int)> (libtalker.so+0x1230)"},
		"bound virtual member": {func(m *image, how reference) trace.Address {
			vtable, object := m.allocate(&m.file, 64), m.object()
			m.set(vtable+24, m.code(make([]byte, 8), "_ZN6Talker7on_textEi"))
			m.set(object+16, vtable) // in a base at 16
			if m.layout.Machine == elf.EM_AARCH64 {
				return m.function(m.manager(memberBind, how), 0, m.words(24, 16<<1|1, object))
			}
			return m.function(m.manager(memberBind, how), 0, m.words(24+1, 16, object))
		}, "Talker::on_text(int)"},
		"unknown manager": {func(m *image, how reference) trace.Address {
			return m.function(m.object(), 0, 0x1234)
		}, ""},
		"manager without a type_info": {func(m *image, how reference) trace.Address {
			invoker := m.code(make([]byte, 8))
			f := m.functions[invoker]
			f.Offset = 0x5670
			m.functions[invoker] = f
			return m.function(m.code(make([]byte, 64)), invoker)
		}, "libtalker.so+0x5670"},
		"empty function": {func(m *image, _ reference) trace.Address { return m.function(0, 0) }, ""},
	} {
		for how, as := range map[reference]string{computes: "computed", loads: "loaded"} {
			t.Run(name+"/"+as, func(t *testing.T) {
				for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
					m := newImage(t, "jazzy", machine)
					function := test.function(m, how)
					if got := (reader{view{memory: m}, m.layout}).functionSymbol(function); got != test.want {
						t.Errorf("%v: %q, want %q", machine, got, test.want)
					}
				}
			})
		}
	}
}

// TestTimerNames: a timer holds its functor itself.
func TestTimerNames(t *testing.T) {
	for name, test := range map[string]struct {
		functor  string
		callback func(m *image) uint64
		want     string
	}{
		"bound member": {"St5_BindIFM6TalkerFvvEPS1_EE", func(m *image) uint64 {
			return m.words(m.code(make([]byte, 8), "_ZN6Talker4tickEv"), 0, m.object())
		}, "Talker::tick()"},
		"pointer":                 {"PFvvE", func(m *image) uint64 { return m.words(m.code(make([]byte, 8), "_Z4tickv")) }, "tick()"},
		"reference to a function": {"RFvvE", func(m *image) uint64 { return m.code(make([]byte, 8), "_Z4tickv") }, "tick()"},
		"reference to a lambda":   {"RZ4mainEUlvE_", func(m *image) uint64 { return m.words(0) + 3 }, "main::{lambda()#1}"},
		"lambda":                  {"Z4mainEUlvE_", func(m *image) uint64 { return m.words(0) }, "main::{lambda()#1}"},
		"standard function": {"St8functionIFvvEE", func(m *image) uint64 {
			return uint64(m.function(m.manager("Z4mainEUlvE_", loads), 0))
		}, "main::{lambda()#1}"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newImage(t, "humble", elf.EM_X86_64)
			callback := trace.Address(test.callback(m))
			got := (reader{view{memory: m}, m.layout}).timerSymbol(callback, "N6rclcpp9WallTimerI"+test.functor+"LPv0EEE")
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestInterfaceTypes(t *testing.T) {
	for typeName, want := range map[string]string{
		"N6rclcpp9PublisherIN8std_msgs3msg7String_ISaIvEEES3_EE":                         "std_msgs/msg/String",
		"N6rclcpp12experimental24SubscriptionIntraProcessIN3a_b3msg2T_ISaIvEEES3_EE":     "a_b/msg/T",
		"N6rclcpp9PublisherIN1p6action21F_FeedbackMessage_ISaIvEEES3_EE":                 "",
		"N6rclcpp9PublisherIN1p6action18F_FeedbackMessage_ISaIvEEES3_EE":                 "p/action/F_FeedbackMessage",
		"N6rclcpp9PublisherINS_11TypeAdapterI3FooN8std_msgs3msg7String_ISaIvEEEvEES3_EE": "",
		"N6rclcpp9PublisherIiEE": "", "N6rclcpp9PublisherI": "", "N6rclcpp9PublisherIN99999999999999999999x": "", "": "", "N": "", "N0": "",
		"N6rclcpp9PublisherIN8std_msgs4util7String_ISaIvEEES3_EE": "",
	} {
		if got := messageType(typeName); got != want {
			t.Errorf("message type of %s is %q, want %q", typeName, got, want)
		}
	}
	for typeName, want := range map[string]string{
		"N6rclcpp7ServiceIN8std_srvs3srv7TriggerEEE":                 "std_srvs/srv/Trigger",
		"N6rclcpp7ServiceIN12_GLOBAL__N_121GetTypeDescription__CEEE": "type_description_interfaces/srv/GetTypeDescription",
		"N6rclcpp7ServiceIN12_GLOBAL__N_17PrivateEEE":                "",
	} {
		if got := serviceType(typeName); got != want {
			t.Errorf("service type of %s is %q, want %q", typeName, got, want)
		}
	}
}

// FuzzManager looks for a type in arbitrary code of both machines.
func FuzzManager(f *testing.F) {
	f.Add([]byte{0x48, 0x8d, 0x05, 0, 1, 0, 0})
	f.Add([]byte{0x08, 0, 0, 0x90, 0x08, 1, 0, 0x91})
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > maxManager {
			t.Skip()
		}
		calls := 0
		count := func(uint64) bool { calls++; return false }
		constantsX86(code, 0x1000, count, count)
		constantsARM64(code, 0x1000, count, count)
		if calls > 2*len(code) {
			t.Errorf("%d constants in %d bytes", calls, len(code))
		}
	})
}
