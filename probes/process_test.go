package probes

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/target"
)

// fixture is a shared library to compile.
type fixture struct {
	soname string
	source string
}

// tracetools is a libtracetools.so with a function for each of the events that a distribution has.
func tracetools(distro distros.Distro) fixture {
	var source strings.Builder
	for _, entry := range catalogue {
		for _, candidate := range entry.sources(distro) {
			if candidate.Library == LibraryTracetools {
				fmt.Fprintf(&source, "void %s(void) {}\n", candidate.Symbol)
			}
		}
	}
	if distro != distros.Humble {
		source.WriteString("int ros_trace_enabled_rcl_init(void) { return 0; }\n")
	}
	return fixture{"libtracetools.so", source.String()}
}

// functions is the C source of functions for the sources that a distribution has in a library, named as its symbols
// are. What a function must call is there, too.
func functions(distro distros.Distro, library Library) string {
	var source strings.Builder
	written := make(map[string]bool)
	for _, entry := range catalogue {
		for _, candidate := range entry.sources(distro) {
			name := candidate.Symbol
			if candidate.Prefix {
				name += "_rest"
			}
			if candidate.Library != library || written[name] {
				continue
			}
			written[name] = true
			if candidate.Returns {
				fmt.Fprintf(&source, "int %s(void) { return 0; }\nint calls_%[1]s(void) { return %[1]s() + 1; }\n", name)
				continue
			}
			if candidate.ReturnOf == "" {
				fmt.Fprintf(&source, "void %s(void) {}\n", name)
				continue
			}
			fmt.Fprintf(&source, "int %s(void) { return 0; }\nint %s(void) { int result = %[1]s(); __asm__ volatile(\"\" : \"+r\"(result)); return result; }\n",
				candidate.ReturnOf, name)
		}
	}
	return source.String()
}

func rclcpp(distro distros.Distro) fixture {
	// rclcpp also has a local symbol for a part of a function, as the compiler makes them.
	return fixture{"librclcpp.so", functions(distro, LibraryRclcpp) + `
static void part(void) __asm__("_ZN6rclcpp8Executor22execute_any_executableERNS_13AnyExecutableE.part.0");
__attribute__((used)) static void part(void) {}
`}
}

var (
	rclOfHumble = fixture{"librcl.so", functions("humble", LibraryRcl) + "int rcl_timer_init(void) { return 0; }\n"}
	rclOfJazzy  = fixture{"librcl.so", functions("jazzy", LibraryRcl) + "int rcl_timer_init2(void) { return 0; }\n"}
	fastDDS     = fixture{
		"libfastrtps.so.2.6",
		"void _ZN8eprosima8fastrtps4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE(void *h, void *c) {}\n",
	}
	cycloneDDS = fixture{"libddsc.so.0", `
long dds_time(void) { return 1; }
__attribute__((noinline)) static int dds_write_impl(void *writer, const void *data, long timestamp, int action)
{
	__asm__ volatile("" : : "r"(writer), "r"(data), "r"(timestamp), "r"(action));
	return 0;
}
int dds_write(void *writer, const void *data)
{
	int result = dds_write_impl(writer, data, dds_time(), 0);
	__asm__ volatile("" : "+r"(result));
	return result;
}
struct serdata { long other[4], timestamp; };
__attribute__((noinline)) static int dds_writecdr_impl(void *writer, void *packet, struct serdata *data, int flush)
{
	__asm__ volatile("" : : "r"(writer), "r"(packet), "r"(data), "r"(flush));
	return 0;
}
int dds_writecdr(void *writer, struct serdata *data)
{
	data->timestamp = dds_time();
	int result = dds_writecdr_impl(writer, writer, data, 1);
	__asm__ volatile("" : "+r"(result));
	return result;
}
`}
	rmwFastDDS = fixture{"librmw_fastrtps_cpp.so", "int rmw_publish(void) { return 0; }\n"}
	rmwCyclone = fixture{"librmw_cyclonedds_cpp.so", "int rmw_publish(void) { return 0; }\n"}
	rmwZenoh   = fixture{"librmw_zenoh_cpp.so", "int rmw_publish(void) { return 0; }\n"}
)

// severalUsers is a variable that gives the program the rights of another user beside its own, if it is root's.
const severalUsers = "SEVERAL_USERS=1"

// mainSource opens with dlopen what it reads from its standard input, and answers every line.
const mainSource = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char line[4096];
	if (getenv("SEVERAL_USERS") && setresuid(-1, -1, 65534))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		puts(dlopen(line, RTLD_NOW) ? "ready" : dlerror());
		fflush(stdout);
	}
	return 0;
}
`

// program is a running process that has mapped compiled fixtures.
type program struct {
	t         *testing.T
	directory string
	input     io.Writer
	output    *bufio.Reader
	process   *target.Process
}

// compiled maps a fixture to its library, so that each is compiled once.
var compiled = make(map[string][]byte)

// compile builds a shared library, linked to others in the same directory, and returns its path.
func compile(t *testing.T, directory string, f fixture, needed ...fixture) string {
	t.Helper()
	path := filepath.Join(directory, f.soname)
	key := fmt.Sprint(f, needed)
	if binary, ok := compiled[key]; ok {
		if err := os.WriteFile(path, binary, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	source := filepath.Join(directory, f.soname+".c")
	if err := os.WriteFile(source, []byte(f.source), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-O2", "-shared", "-fPIC", "-Wl,--build-id", "-Wl,-soname," + f.soname, "-Wl,--no-as-needed", "-o", path, source}
	for _, other := range needed {
		arguments = append(arguments, filepath.Join(directory, other.soname))
	}
	runCompiler(t, arguments...)
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compiled[key] = binary
	return path
}

func runCompiler(t *testing.T, arguments ...string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	if output, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, output)
	}
}

// start runs a program that is linked to the fixtures. Those in directory are found at run time as well.
func start(t *testing.T, directory string, linked ...fixture) *program {
	t.Helper()
	return startIn(t, directory, nil, linked...)
}

// startIn is start with variables that are added to the environment.
func startIn(t *testing.T, directory string, environment []string, linked ...fixture) *program {
	t.Helper()
	source, binary := filepath.Join(directory, "main.c"), filepath.Join(directory, "main")
	if err := os.WriteFile(source, []byte(mainSource), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-o", binary, source, "-Wl,--no-as-needed", "-Wl,-rpath," + directory, "-ldl"}
	for _, f := range linked {
		arguments = append(arguments, compile(t, directory, f))
	}
	runCompiler(t, arguments...)
	command := exec.Command(binary)
	command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+directory, "ROS_DISTRO=", "AMENT_PREFIX_PATH=")
	command.Env = append(command.Env, environment...)
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, directory: directory, input: input, output: bufio.NewReader(output)}
	t.Cleanup(func() {
		input.Close()
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	p.wait()
	if p.process, err = target.NewFinder().Inspect(t.Context(), int32(command.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.process.Close() })
	return p
}

func (p *program) wait() {
	p.t.Helper()
	if line, err := p.output.ReadString('\n'); err != nil || line != "ready\n" {
		p.t.Fatalf("the program says %q, %v", line, err)
	}
}

// load makes the program map a library.
func (p *program) load(f fixture) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.input, filepath.Join(p.directory, f.soname)); err != nil {
		p.t.Fatal(err)
	}
	p.wait()
	if _, err := p.process.Refresh(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// requireAMD64 skips what concerns callers: on other machines all tracepoints have emulated instructions.
func requireAMD64(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 only")
	}
}
