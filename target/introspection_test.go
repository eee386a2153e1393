package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/quota"
)

// introspectionSource is a library with the tables of one message, as rosidl_typesupport_introspection_cpp lays them
// out. Macros: KEY declares the bool that Jazzy has added; MEMBERS is the array's content; CONSTANT is empty for tables
// that are filled at run time.
const introspectionSource = `
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handle { const char *identifier; const void *data; const void *(*function)(void); };
struct member {
	const char *name;
	uint8_t type;
	size_t string_bound;
	const struct handle *nested;
	KEY
	bool is_array;
	size_t array_size;
	bool is_bounded;
	uint32_t offset;
	const void *default_value;
	void (*functions[6])(void);
};
struct members {
	const char *namespace, *name;
	uint32_t count;
	size_t size;
	KEY
	const struct member *members;
	void (*init)(void *, int), (*fini)(void *);
};
struct text { char *data; size_t length; char local[16]; };
struct message {
	uint8_t state;
	uint32_t count;
	struct { int32_t sec; uint32_t nanosec; struct text frame_id; } header;
	struct text name;
};

void init(void *message, int how) { (void)message; (void)how; }
void fini(void *message) { (void)message; }
static struct handle header_handle;
enum { UINT8 = 8, UINT32 = 12, STRING = 16, MESSAGE = 18 };
#define MEMBER(type_id, field, ...) {.name = #field, .type = type_id, .offset = offsetof(struct message, field), __VA_ARGS__}
static CONSTANT struct member array[] = {MEMBERS};
static CONSTANT struct members members = {
	.namespace = "lidar_msgs::msg", .name = "Scan", .count = sizeof array / sizeof *array, .size = sizeof(struct message),
	.members = array, .init = init, .fini = fini};
static CONSTANT struct handle handle = {.identifier = 0, .data = &members};

const struct handle *rosidl_typesupport_introspection_cpp__get_message_type_support_handle__lidar_msgs__msg__Scan(void) { return &handle; }
`

const (
	humbleTables = ``
	jazzyTables  = `bool is_key;`
	scanMembers  = `MEMBER(UINT8, state), MEMBER(UINT32, count), MEMBER(MESSAGE, header, .nested = &header_handle), MEMBER(STRING, name)`
	scanText     = "uint8 state\nuint32 count\nstd_msgs/Header header\nstring name\n"
)

func introspectionLibrary(t testing.TB, directory, key, members string, options ...string) string {
	t.Helper()
	source := strings.NewReplacer("KEY", key, "MEMBERS", members, "CONSTANT", "const").Replace(introspectionSource)
	return buildLibrary(t, directory, "liblidar_msgs__rosidl_typesupport_introspection_cpp.so", source, append(options, "-O2")...)
}

func TestHeaderOffsetByIntrospection(t *testing.T) {
	const headerOffset = 8 // uint8, padding, uint32
	for name, test := range map[string]struct {
		key, definition, members string
		offset                   uint64
	}{
		"Humble":                  {humbleTables, scanText, scanMembers, headerOffset},
		"Jazzy":                   {jazzyTables, scanText, scanMembers, headerOffset},
		"Jazzy, a key":            {jazzyTables, scanText, strings.Replace(scanMembers, "count)", "count, .is_key = true)", 1), headerOffset},
		"an array":                {jazzyTables, strings.Replace(scanText, "string", "string[]", 1), strings.Replace(scanMembers, "name)", "name, .is_array = true)", 1), headerOffset},
		"not an array there":      {humbleTables, strings.Replace(scanText, "string", "string[]", 1), scanMembers, 0},
		"another name":            {humbleTables, strings.Replace(scanText, "count", "number", 1), scanMembers, 0},
		"one more field":          {humbleTables, scanText + "int8 more", scanMembers, 0},
		"one field less":          {jazzyTables, "uint8 state\nstd_msgs/Header header\nstring name\n", scanMembers, 0},
		"another order":           {jazzyTables, scanText, "MEMBER(UINT32, count), MEMBER(UINT8, state), MEMBER(MESSAGE, header), MEMBER(STRING, name)", 0},
		"offsets that go back":    {humbleTables, scanText, strings.Replace(scanMembers, "header,", "header, .offset = 4,", 1), 0},
		"a header past the end":   {humbleTables, scanText, strings.NewReplacer("header,", "header, .offset = 4096,", "name)", "name, .offset = 8192)").Replace(scanMembers), 0},
		"first field not at 0":    {humbleTables, scanText, strings.Replace(scanMembers, "state)", "state, .offset = 1)", 1), 0},
		"the header is no struct": {humbleTables, scanText, strings.Replace(scanMembers, "MESSAGE", "UINT32", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t)
			fake.install("/opt/ros/humble/lib/librcl.so")
			fake.mapLibrary("/opt/ros/humble/lib/librcl.so")
			fake.install(humblePrefix + typeSupport)
			fake.mapLibrary(humblePrefix + typeSupport)
			fake.writeRoot(humblePrefix+scanFile, test.definition)
			introspectionLibrary(t, fake.inRoot(humblePrefix+"/lib"), test.key, test.members)
			offset, ok, err := fake.open().HeaderOffset(t.Context(), scanType)
			if offset != test.offset || ok != (test.offset != 0) || ok == (err != nil) {
				t.Fatalf("offset %d, %v, %v", offset, ok, err)
			}
			if err != nil && !errors.Is(err, errNotIntrospection) {
				t.Errorf("another error: %v", err)
			}
		})
	}
}

// withIntrospection is a process that maps a library of a message type whose header only the introspection library of
// the prefix places.
func withIntrospection(t *testing.T) *fakeProcess {
	t.Helper()
	fake := withScan(t)
	fake.writeRoot(humblePrefix+scanFile, scanText)
	introspectionLibrary(t, fake.inRoot(humblePrefix+"/lib"), humbleTables, scanMembers)
	return fake
}

// The process's user pays for reading the introspection library, which is of his making.
func TestIntrospectionIsPaidFor(t *testing.T) {
	process := withIntrospection(t).open()
	account := process.Account()
	held := int64(0)
	for size := int64(1) << 40; size > 0; size /= 2 {
		for account.Take(quota.Memory, size) == nil {
			held += size
		}
	}
	_, ok, err := process.HeaderOffset(t.Context(), scanType)
	if ok || !errors.Is(err, quota.ErrUsedUp) || !strings.Contains(err.Error(), fmt.Sprint("user ", account.User())) {
		t.Errorf("header %v, %v", ok, err)
	}
	account.Give(quota.Memory, held)
	for range 2 { // nothing is kept of it
		if offset, ok, err := process.HeaderOffset(t.Context(), scanType); offset != 8 || !ok || err != nil {
			t.Errorf("with room: %d, %v, %v", offset, ok, err)
		}
	}
	if err := account.Take(quota.Memory, held); err != nil {
		t.Error(err)
	}
}

// What was given up does not go on.
func TestIntrospectionEnds(t *testing.T) {
	library := humblePrefix + "/lib/liblidar_msgs__rosidl_typesupport_introspection_cpp.so"
	fields := scanFields(t)
	d := withIntrospection(t).delegate()
	opened, givenUp := make(chan error), make(chan struct{})
	errs := make(chan error, 2)
	go ask(d, func(root rootDirectory) (int, error) {
		defer close(errs)
		file, err := root.openFile(library)
		opened <- err
		if err != nil {
			return 0, err
		}
		defer file.Close()
		<-givenUp
		_, err = offsetIn(root.ctx, file, messageType{"lidar_msgs", "msg", "Scan"}, fields, 2)
		errs <- err
		_, err = root.openFile(library)
		errs <- err
		return 0, nil
	})
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	d.close()
	close(givenUp)
	for err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

func TestIntrospectionThatIsNoTable(t *testing.T) {
	for name, change := range map[string]*strings.Replacer{
		"another message":        strings.NewReplacer(`"Scan"`, `"Other"`),
		"another namespace":      strings.NewReplacer(`lidar_msgs::msg`, `other_msgs::msg`),
		"tables filled later":    strings.NewReplacer(".members = array,", ""),
		"names filled later":     strings.NewReplacer(".name = #field,", ""),
		"no such message at all": strings.NewReplacer("__msg__Scan(", "__msg__Other("),
		"a function that works":  strings.NewReplacer("{ return &handle; }", "{ init(0, 1); return header_handle.data ? &header_handle : &handle; }"),
		"a handle without data":  strings.NewReplacer(".data = &members", ""),
	} {
		t.Run(name, func(t *testing.T) {
			source := strings.NewReplacer("KEY", humbleTables, "MEMBERS", scanMembers, "CONSTANT", "const").Replace(change.Replace(introspectionSource))
			library := openLibrary(t, buildLibrary(t, t.TempDir(), "library.so", source, "-O2"))
			if offset, err := introspectedOffset(library, messageType{"lidar_msgs", "msg", "Scan"}, scanFields(t), 2); err == nil {
				t.Errorf("offset %d", offset)
			}
		})
	}
}

func openLibrary(t testing.TB, path string) *elffile.File {
	t.Helper()
	file, err := elffile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func scanFields(t testing.TB) []messageField {
	t.Helper()
	fields, err := parseMsgDefinition("lidar_msgs", []byte(scanText))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func FuzzIntrospectedOffset(f *testing.F) {
	if _, err := exec.LookPath("gcc"); err == nil {
		for _, key := range []string{humbleTables, jazzyTables} {
			content, err := os.ReadFile(introspectionLibrary(f, f.TempDir(), key, scanMembers,
				"-nostdlib", "-s", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=16"))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	fields := scanFields(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		library, err := elffile.New(bytes.NewReader(content))
		if err != nil {
			return
		}
		offset, err := introspectedOffset(library, messageType{"lidar_msgs", "msg", "Scan"}, fields, 2)
		if err == nil && offset < 2 {
			t.Errorf("offset %d behind two fields", offset)
		}
	})
}

// Of every message of an installed ROS 2, definitions in both languages and the introspection library tell the same
// fields.
func TestROSMessageDefinitions(t *testing.T) {
	ready, err := filepath.Glob("/opt/ros/*/READY")
	if err != nil || len(ready) == 0 {
		t.Skip("no complete ROS 2 is installed in /opt/ros")
	}
	for _, marker := range ready {
		prefix := filepath.Dir(marker)
		t.Run(filepath.Base(prefix), func(t *testing.T) {
			definitions, err := filepath.Glob(prefix + "/share/*/msg/*.msg")
			if err != nil {
				t.Fatal(err)
			}
			headers := 0
			offsets := map[string]uint64{}
			for _, definition := range definitions {
				of := messageType{pkg: filepath.Base(filepath.Dir(filepath.Dir(definition))), namespace: "msg", name: strings.TrimSuffix(filepath.Base(definition), ".msg")}
				fields := readDefinition(t, of, definition)
				if headerIndex(fields) >= 0 {
					headers++
				}
				checkSameFields(t, of, fields, readDefinition(t, of, strings.TrimSuffix(definition, ".msg")+".idl"))
				library := openLibrary(t, prefix+"/lib/lib"+of.pkg+"__rosidl_typesupport_introspection_cpp.so")
				for i, field := range fields {
					if field.isArray || !strings.Contains(field.typeName, "/") {
						continue
					}
					offset, err := introspectedOffset(library, of, fields, i)
					if err != nil {
						t.Errorf("%s.%s: %v", of, field.name, err)
					}
					offsets[of.name+"."+field.name] = offset
				}
			}
			if len(definitions) < 100 || headers < 20 {
				t.Errorf("%d messages, %d of them with a header: not all were found", len(definitions), headers)
			}
			// A header has 8 bytes of stamp and a std::string of 32 bytes.
			for field, expected := range map[string]uint64{
				"PointCloud2.header": 0, "PoseStamped.pose": 40, "TransformStamped.transform": 72,
			} {
				if offset, found := offsets[field]; !found || offset != expected {
					t.Errorf("%s is at %d (%v), not at %d", field, offset, found, expected)
				}
			}
		})
	}
}

func readDefinition(t *testing.T, of messageType, path string) (fields []messageField) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) == ".idl" {
		fields, err = parseIDLDefinition(of, text)
	} else {
		fields, err = parseMsgDefinition(of.pkg, text)
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return fields
}

// checkSameFields compares a .msg definition with the .idl made from it, in which a message without fields has one for
// form's sake.
func checkSameFields(t *testing.T, of messageType, msg, idl []messageField) {
	t.Helper()
	if len(msg) == 0 {
		return
	}
	same := func(a, b messageField) bool { return a.name == b.name && a.isArray == b.isArray }
	if !slices.EqualFunc(msg, idl, same) || headerIndex(msg) != headerIndex(idl) {
		t.Errorf("%s: fields %v in .msg, %v in .idl", of, msg, idl)
	}
}
