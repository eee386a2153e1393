package elffile

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Accessors as rcl, in C, and rclcpp have them. The shared_ptr is written out: its first word is what counts.
const accessorSource = `
#include <stdbool.h>
#include <stddef.h>
struct qos { int history; size_t depth; };
struct impl { char padding[152]; void *handle; struct qos qos; };
struct node { void *context; struct impl *impl; int type; bool flag; };
extern bool is_valid(const struct node *node);
extern void set_error(const char *text, ...);
void *handle(const struct node *node) { if (!is_valid(node)) return NULL; return node->impl->handle; }
const struct qos *qos(const struct node *node) {
	if (!node) { set_error("null"); return NULL; }
	if (!is_valid(node)) return NULL;
	return &node->impl->qos;
}
int type(const struct node *node) { return node->type; }
bool *flag(struct node *node) { return &node->flag; }

struct count { int virtual_table, uses; };
struct pointer { void *object; struct count *count; char more; };
struct base { void *table; char padding[40]; struct pointer pointer; };
extern char single_threaded;
struct pointer copy(const struct base *base) {
	struct pointer p = base->pointer;
	if (p.count) { if (single_threaded) p.count->uses++; else __atomic_add_fetch(&p.count->uses, 1, __ATOMIC_SEQ_CST); }
	return p;
}

void *itself(struct node *node) { return node; }
void *one_of_two(const struct node *node) { return node->type ? node->impl->handle : node->context; }
size_t computed(const struct node *node) { return node->impl->qos.depth * 3; }
extern void *other(const struct node *node);
void *elsewhere(const struct node *node) { return other(node); }
void *called(const struct node *node) { void *result = other(node); set_error("x"); return result; }
void *counted(struct impl **list) { struct impl **p = list; while (*p) p++; return *p; }
`

func TestAccessedMember(t *testing.T) {
	eachMachine(t, func(t *testing.T, build func(*testing.T, string, string, ...string) *File) {
		for _, options := range [][]string{
			{"-O2"}, {"-O0"}, {"-Os"}, {"-O2", "-fcf-protection=none"}, {"-O2", "-fno-omit-frame-pointer"}, {"-O3", "-s"}, {"-O2", "-fno-tree-vectorize"},
			{"-O2", "-mbranch-protection=standard"}, {"-O2", "-mno-outline-atomics"},
		} {
			t.Run(strings.Join(options, " "), func(t *testing.T) {
				file := build(t, "library.c", accessorSource, append(options, "-fcommon")...)
				for function, want := range map[string]Member{
					"handle": {Offsets: []int64{8, 152}},
					"qos":    {Offsets: []int64{8, 160}, Address: true},
					"type":   {Offsets: []int64{16}},
					"flag":   {Offsets: []int64{20}, Address: true},
				} {
					got, err := file.ReturnedMember(mustLookup(t, file, function))
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s: %+v, %v, want %+v", function, got, err, want)
					}
				}
				want := Member{Offsets: []int64{48}}
				if got, err := file.CopiedMember(mustLookup(t, file, "copy")); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("copy: %+v, %v, want %+v", got, err, want)
				}
				for _, function := range []string{"itself", "one_of_two", "computed", "elsewhere", "called", "counted"} {
					if got, err := file.ReturnedMember(mustLookup(t, file, function)); !errors.Is(err, ErrUnexpectedShape) {
						t.Errorf("%s: %+v, %v", function, got, err)
					}
				}
				for _, function := range []string{"handle", "type"} {
					if got, err := file.CopiedMember(mustLookup(t, file, function)); !errors.Is(err, ErrUnexpectedShape) {
						t.Errorf("copied by %s: %+v, %v", function, got, err)
					}
				}
			})
		}
	})
}
