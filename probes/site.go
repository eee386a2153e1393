package probes

import (
	"math"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// Site is one instruction to attach a uprobe to.
type Site struct {
	Event abi.Event `json:"event"`
	Form  abi.Form  `json:"form"`
	// LastLayer says that this site is the last one that a publish passes: it closes the publish's record.
	LastLayer bool `json:"last_layer,omitempty"`
	// Parameter is the form's number: for FormFastDDS the offset of the sourceTimestamp in a CacheChange_t.
	Parameter  uint16     `json:"parameter,omitempty"`
	Provenance Provenance `json:"provenance"`
	Required   bool       `json:"required,omitempty"`

	// Symbol is the function that holds the site, as the file spells it.
	Symbol string `json:"symbol"`
	// Library is the file's soname.
	Library string `json:"library"`
	BuildID string `json:"build_id,omitempty"`
	// Path leads to the file from the recorder's mount namespace, also when it was deleted or lies in a container. It is
	// for people.
	Path string `json:"path"`
	// Opened is the file that the site was found in, and nothing else is attached to. The target.Process of the plan holds
	// it.
	Opened *target.OpenFile `json:"-"`
	// Device and Inode are those that stat shows of the file.
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// File is the same for sites in one real file, also where overlay mounts show it under several devices.
	File target.FileID `json:"-"`
	// Offset is the site's place in the file, Address its virtual address in the file's own terms.
	Offset  uint64 `json:"offset"`
	Address uint64 `json:"address"`
	// Instruction are the instruction's bytes in the file, in hexadecimal: what must be there when it is attached.
	Instruction string `json:"instruction"`
	// Class says how the kernel executes the instruction, Emulation which kind of instruction that it emulates it is.
	Class     elffile.Class `json:"class"`
	Emulation string        `json:"emulation,omitempty"`
	// Cost is what a hit is expected to take from the traced thread, its program included.
	Cost time.Duration `json:"cost_ns"`
	Role abi.Role      `json:"role"`
	// Optional says that callbacks, takes and publishes are recorded without it, with fewer fields.
	Optional bool `json:"optional,omitempty"`
	// StackWords is how many words lie between the stack pointer at the site and the one at the function's entry, which
	// every event tells.
	StackWords int8 `json:"stack_words,omitempty"`
	// Armed says that the process did not map the file when the plan was made.
	Armed bool `json:"armed,omitempty"`
}

// Cookie is what the kernel program is told about the site it was called for.
func (s Site) Cookie() uint64 {
	return abi.Cookie{
		Event: s.Event, Form: s.Form, LastLayer: s.LastLayer, Role: s.Role, Unit: s.Unit(), StackWords: s.StackWords, Parameter: s.Parameter,
		CostNs: uint16(min(s.Cost.Nanoseconds(), math.MaxUint16)),
	}.Pack()
}

// Program returns the name of the BPF program that handles the site's event. All initialization events share one.
func (s Site) Program() string {
	if s.Event.IsInit() {
		return "on_init_event"
	}
	return "on_" + s.Event.String()
}

// OnlyIntraProcess reports whether the site is of use only in a process that has subscriptions with intra-process
// communication, though others hit it: on Humble, which has no tracepoints for it.
func (s Site) OnlyIntraProcess() bool { return s.Optional && s.ShowsIntraProcess() }

// ShowsIntraProcess reports whether intra-process communication is concluded from hits of the site, as on Humble.
func (s Site) ShowsIntraProcess() bool {
	return s.Form == abi.FormDerived &&
		(s.Event == abi.EventExecutorExecute || s.Event == abi.EventRclcppIntraPublish || s.Event == abi.EventRclcppRingBufferEnqueue)
}
