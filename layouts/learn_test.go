package layouts

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// A librcl whose rcl_node_impl_t has another member before the handle than that of any release.
const otherRCL = `
struct impl { char padding[176]; void *handle; };
struct node { void *context; struct impl *impl; };
extern _Bool rcl_node_is_valid_except_context(const struct node *node);
void *rcl_node_get_rmw_handle(const struct node *node) { return rcl_node_is_valid_except_context(node) ? node->impl->handle : 0; }
void *rcl_client_get_rmw_handle(const struct node *client) { return (void *)rcl_node_is_valid_except_context(client); }
`

func TestLearnedGoesBeforeKnown(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the code of x86-64 only is followed")
	}
	path := filepath.Join(t.TempDir(), "librcl.so")
	compiler := exec.Command("gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path)
	compiler.Stdin = strings.NewReader(otherRCL)
	if output, err := compiler.CombinedOutput(); err != nil {
		t.Skipf("gcc: %v: %s", err, output)
	}
	library, err := elffile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	learned := Learn("librcl.so", library)
	if want := (Learned{"rcl_node_s.impl": 8, "rcl_node_impl_s.rmw_node_handle": 176}); !reflect.DeepEqual(learned, want) {
		t.Fatalf("learned %v, want %v", learned, want)
	}
	if other := Learn("librclcpp.so", library); len(other) > 0 {
		t.Errorf("learned %v from a library of another name", other)
	}
	layout, err := For("humble", elf.EM_X86_64, learned)
	if err != nil {
		t.Fatal(err)
	}
	want := []Difference{{Member: "rcl_node_impl_s.rmw_node_handle", Learned: 176, Known: 152}}
	if layout.Node.RMWHandle != 176 || !reflect.DeepEqual(layout.Differences, want) {
		t.Errorf("%d, differences %v", layout.Node.RMWHandle, layout.Differences)
	}
}

func TestAccessorsNameKnownMembers(t *testing.T) {
	cells, err := parseTable(offsetsCSV, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(accessors()) < 15 {
		t.Errorf("%d accessors", len(accessors()))
	}
	for _, a := range accessors() {
		if a.gives != "returned" && a.gives != "copied" {
			t.Errorf("%s gives %q", a.function, a.gives)
		}
		for _, member := range a.members {
			if cells[column{"humble_amd64", member.name}] == "" {
				t.Errorf("%s: no member %s", a.function, member.name)
			}
		}
	}
}
