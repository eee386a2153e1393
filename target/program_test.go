package target

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programSource obeys lines on its standard input, and answers each with a line.
const programSource = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *idle(void *thread_id) { *(volatile long *)thread_id = syscall(SYS_gettid); for (;;) pause(); }
int main(int argc, char **argv)
{
	static void *library;
	char line[4096];
	setvbuf(stdout, 0, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		char *argument = strchr(line, ' ');
		argument = argument ? argument + 1 : line + strlen(line);
		if (!strncmp(line, "load", 4)) {
			library = dlopen(argument, RTLD_NOW);
			puts(library ? "loaded" : dlerror());
		} else if (!strncmp(line, "unload", 6)) {
			puts(dlclose(library) ? dlerror() : "unloaded");
		} else if (!strncmp(line, "exec", 4)) {
			execv(argument, argv);
			puts("exec failed");
		} else if (!strncmp(line, "thread", 6)) {
			static volatile long id;
			pthread_t thread;
			pthread_create(&thread, 0, idle, (void *)&id);
			while (!id) usleep(100);
			printf("%ld\n", id);
		} else if (!strncmp(line, "memory", 6)) {
			/* Four pages: text that runs over the first page's end, untouched, no access, text up to the end. */
			long page = sysconf(_SC_PAGESIZE);
			char *memory = mmap(0, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(memory, 'a', page);
			strcpy(memory + 8, "/sensing/points");
			mprotect(memory + 2 * page, page, PROT_NONE);
			memset(memory + 3 * page, 'z', page);
			printf("%lx\n", (unsigned long)memory);
		} else if (!strncmp(line, "large", 5)) {
			size_t size = 3u << 20;
			unsigned char *memory = malloc(size);
			for (size_t i = 0; i < size; i++) memory[i] = i * 31 % 251;
			printf("%lx\n", (unsigned long)memory);
		} else {
			puts("unknown");
		}
	}
	return 0;
}
`

// program is a running program that maps a library called librcl.so.
type program struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Scanner
	pid     int32
}

// buildLibrary compiles a shared library of that soname into a directory.
func buildLibrary(t testing.TB, directory, soname, source string, options ...string) string {
	t.Helper()
	library := filepath.Join(directory, soname)
	compile(t, source, append([]string{"-shared", "-fPIC", "-o", library, "-Wl,-soname," + soname}, options...)...)
	return library
}

// buildProgram compiles programSource in a directory, linked with libraries of that directory.
func buildProgram(t testing.TB, directory string, libraries ...string) string {
	t.Helper()
	executable := filepath.Join(directory, "ros_program")
	options := []string{"-o", executable, "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"}
	compile(t, programSource, append(append(options, libraries...), "-ldl", "-lpthread")...)
	return executable
}

func compile(t testing.TB, source string, arguments ...string) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	file := filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(compiler, append([]string{file}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, output)
	}
}

// buildROSProgram is a program with a librcl.so beside it.
func buildROSProgram(t testing.TB) (executable, librcl string) {
	t.Helper()
	directory := t.TempDir()
	librcl = buildLibrary(t, directory, "librcl.so", "int rcl_init(void) { return 0; }\nint rcl_timer_init(void) { return 0; }")
	return buildProgram(t, directory, librcl), librcl
}

// start runs a command whose program is, in the end, programSource.
func start(t *testing.T, arguments ...string) *program {
	t.Helper()
	return startCommand(t, exec.Command(arguments[0], arguments[1:]...))
}

func startCommand(t *testing.T, command *exec.Cmd) *program {
	t.Helper()
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, command: command, input: input, output: bufio.NewScanner(output), pid: int32(command.Process.Pid)}
	t.Cleanup(p.stop)
	if answer := p.read(); answer != "ready" {
		t.Fatalf("program started with %q", answer)
	}
	return p
}

func (p *program) read() string {
	p.t.Helper()
	if !p.output.Scan() {
		p.t.Fatalf("program ended: %v", p.output.Err())
	}
	return p.output.Text()
}

// do sends a line and returns the answer.
func (p *program) do(format string, arguments ...any) string {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.input, format+"\n", arguments...); err != nil {
		p.t.Fatal(err)
	}
	return p.read()
}

// must sends a line that has to be answered so.
func (p *program) must(answer, format string, arguments ...any) {
	p.t.Helper()
	if got := p.do(format, arguments...); got != answer {
		p.t.Fatalf("%s: %q", fmt.Sprintf(format, arguments...), got)
	}
}

// stop ends the program and waits for it.
func (p *program) stop() {
	p.input.Close()
	p.command.Wait()
}

func openProcess(t *testing.T, finder *Finder, pid int32) *Process {
	t.Helper()
	process, err := finder.Open(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Close() })
	return process
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// childOf is the PID of a process's only child.
func childOf(t *testing.T, pid int32) int32 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip("the kernel does not list children: ", err)
	}
	child, err := parsePID(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return child
}
