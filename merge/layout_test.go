package merge

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/caret-bpf/caret-bpf/bpf"
)

// TestLayoutsMatchBTF compares every mirrored type with the compiled kernel side: sizes, offsets, names, no implicit padding.
func TestLayoutsMatchBTF(t *testing.T) {
	spec, err := bpf.LoadCaret()
	if err != nil {
		t.Fatal(err)
	}
	for name, mirror := range map[string]any{
		"record_header":   RecordHeader{},
		"feed":            Feed{},
		"callback_record": CallbackRecord{},
		"publish_record":  PublishRecord{},
		"take_record":     TakeRecord{},
		"enqueue_record":  EnqueueRecord{},
		"service_record":  ServiceRecord{},
		"sim_time_record": SimTimeRecord{},
		"take_call":       TakeCall{},
		"service_call":    ServiceCall{},
		"intra_publisher": IntraPublisher{},
		"caller_hit":      CallerHit{},
		"hit_count":       HitCount{},
		"thread_record":   ThreadRecord{},
		"init_record":     InitRecord{},
		"raw_record":      RawRecord{},
		"process_record":  ProcessRecord{},
		"callback_frame":  CallbackFrame{},
		"thread_state":    ThreadState{},
	} {
		t.Run(name, func(t *testing.T) {
			var layout *btf.Struct
			if err := spec.Types.TypeByName(name, &layout); err != nil {
				t.Fatal(err)
			}
			mirrored := reflect.TypeOf(mirror)
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
				if got, want := strings.ToLower(field.Name), strings.ReplaceAll(member.Name, "_", ""); got != want {
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
		})
	}
}
