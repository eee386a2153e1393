package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// hostile holds what a traced program may name itself: sequences that steer terminals of 7 and 8 bits, marks that turn
// text around, ends of lines of all kinds, and bytes that are no UTF-8.
const hostile = "\x1b]0;PWN\a\x1b[31m\u009b2J\x9b2J\x7f\u202e\u2066\u200e\u2028\u2029\r\x00\nforged line\xff"

// checkPrinted fails if what a command has printed could steer a terminal, or holds a line that a name has made.
func checkPrinted(t *testing.T, printed string) {
	t.Helper()
	for i, r := range printed {
		invalid := r == utf8.RuneError && !strings.HasPrefix(printed[i:], string(utf8.RuneError))
		if invalid || !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			t.Errorf("%q is printed raw: %.200q", r, printed[max(0, i-80):])
			return
		}
	}
	if strings.HasPrefix(printed, "forged") || strings.Contains(printed, "\nforged") {
		t.Errorf("a name has made a line: %.500s", printed)
	}
}

// hostileDataset is a dataset of two nodes in which everything that has a name has a hostile one.
func hostileDataset(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dataset "+strings.NewReplacer("\x00", "", "\n", "").Replace(hostile))
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	topic, other, service, symbol := "/chatter"+hostile, "/relayed"+hostile, "/reset"+hostile, "=HYPERLINK("+hostile
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: key, Command: hostile, CommandLine: hostile, Executable: hostile, Distro: hostile, RMWImplementation: hostile}})
	tracetest.AddSegment(t, dir, 0, []trace.Node{
		{ProcessKey: key, NodeHandle: 0x10, NodeName: "talker" + hostile, Namespace: "/"}, {ProcessKey: key, NodeHandle: 0x20, NodeName: "relay" + hostile, Namespace: "/"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: topic, MessageType: hostile},
		{ProcessKey: key, PublisherHandle: 0x21, NodeHandle: 0x20, TopicName: other, MessageType: hostile},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Subscription{{
		ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: topic, MessageType: hostile, Subscription: 0x23, Callback: 0x24, CallbackGroup: 0x40,
	}})
	tracetest.AddSegment(t, dir, 0, []trace.Timer{{ProcessKey: key, TimerHandle: 0x12, NodeHandle: 0x10, Callback: 0x13, Period: trace.Some(int64(100e6))}})
	tracetest.AddSegment(t, dir, 0, []trace.Client{{ProcessKey: key, ClientHandle: 0x14, NodeHandle: 0x10, ServiceName: service}})
	tracetest.AddSegment(t, dir, 0, []trace.ServiceServer{{ProcessKey: key, ServiceHandle: 0x25, NodeHandle: 0x20, ServiceName: service}})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{{ProcessKey: key, Callback: 0x24, Symbol: symbol}})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackGroup{{ProcessKey: key, CallbackGroup: 0x40, Executor: 0x50, NodeHandle: 0x20, GroupTypeName: hostile}})
	tracetest.AddSegment(t, dir, 0, []trace.Executor{{ProcessKey: key, Executor: 0x50, ExecutorType: hostile}})
	tracetest.AddSegment(t, dir, 0, []trace.Callback{{
		ProcessKey: key, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(6)), CallbackEndTimestamp: trace.Some(int64(9)), Status: hostile,
	}})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{
		{ProcessKey: key, PublisherHandle: 0x11, Callback: 0x13, CallbackStartTimestamp: trace.Some(int64(5)), Status: hostile},
		{ProcessKey: key, PublisherHandle: 0x21, Callback: 0x24, CallbackStartTimestamp: trace.Some(int64(6)), Status: hostile},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Loss{{Kind: hostile, Reason: hostile, Count: 3}})
	s := trace.NewSession()
	s.Host = trace.Host{Name: hostile, Kernel: hostile, Machine: hostile}
	s.Recorder.Version, s.Ending, s.Error = hostile, trace.EndingError, hostile
	s.Targets = []trace.Target{{Command: hostile, Executable: hostile, Distro: hostile, RMWImplementation: hostile}}
	s.Plan.Sites = []trace.Site{{Event: hostile, File: hostile, Symbol: hostile}}
	s.Plan.Missing = []trace.MissingEvent{{Event: hostile, Reason: hostile}}
	s.Unstamped = []trace.UnstampedType{{MessageType: hostile, Reason: hostile}}
	s.Warnings, s.Unresolved = []string{hostile}, []string{hostile}
	s.Overhead = &trace.Overhead{Hits: 1, Cost: 1, Events: []trace.EventOverhead{{Event: hostile, Hits: 1}}, Detached: []trace.DetachedEvent{{Event: hostile}}}
	tracetest.AddSession(t, dir, s)
	return dir
}

// No name of a recording reaches the terminal as it is, whichever command shows it in whichever form.
func TestNothingInADatasetSteersTheTerminal(t *testing.T) {
	dir := hostileDataset(t)
	path := slices.Clip([]string{"latency", "path", dir, "--path", "[/talker" + hostile + "]-[/chatter" + hostile + "]-[/relay" + hostile + "]"})
	for _, question := range append(questions(dir, "/chatter"+hostile, "/relayed"+hostile), [][]string{
		{"info", dir}, {"info", dir, "--part", "tracepoints"}, {"info", dir, "--part", "processes"}, {"info", dir, "--part", "nodes"},
		{"info", dir, "--part", "callbacks"}, {"info", dir, "--part", "topics"}, {"info", dir, "--part", "losses"}, {"info", dir, "--part", "unarmed"}, {"info", dir, "--part", "unstamped"}, {"info", dir, "--part", "warnings"},
		{"graph", dir}, {"paths", dir, "--undefined"}, {"diff", dir, dir, "--all"}, {"sql", dir}, {"sql", dir, "--write"},
		{"latency", "callback", dir, "--histogram"}, {"latency", "callback", dir, "--series", "--plot"}, {"latency", "callback", dir, "--scheduling"}, {"period", dir, "--histogram"},
		{"latency", "communication", dir, "--histogram"}, {"latency", "node", dir, "--histogram"}, {"latency", "service", dir, "--histogram"},
		append(path, "--stacked-bar"), append(path, "--message-flow"), append(path, "--histogram"),
		{"latency", "callback", dir, "--series"}, path, {"latency", "response-time", dir, "--from", hostile, "--to", hostile}, {"frequency", dir, "--of", "callback"},
		{"info", dir + hostile}, {hostile}, {"info", "--" + hostile}, {"graph", dir, "--architecture", dir + hostile}, {"latency", "callback", dir, "--node", "(" + hostile},
		{"record", "-p", hostile}, {"record", hostile}, {"record", "--name", "(" + hostile}, {"completion", hostile}, {"info", dir, "--part", hostile}, {"latency", hostile},
	}...) {
		for _, form := range []string{"", "--json", "--csv", "--dot", "--mermaid", "--yaml"} {
			arguments := question
			if form != "" {
				arguments = append(append([]string{}, question...), form)
			}
			t.Run(strings.Join(arguments, " "), func(t *testing.T) {
				code, out, problems := runCommand(arguments...)
				checkPrinted(t, out)
				checkPrinted(t, problems)
				if code != exitSuccess {
					return
				}
				switch form {
				case "--json":
					if !json.Valid([]byte(out)) {
						t.Errorf("no JSON: %s", out)
					}
				case "--csv":
					checkNoFormulas(t, out)
				}
			})
		}
	}
}

func checkNoFormulas(t *testing.T, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("a formula: %s", cell)
			}
		}
	}
}

// bystanderVariable makes the test binary a process with a hostile name that maps the libraries in the folder that it
// names.
const bystanderVariable = "CARET_BPF_TEST_BYSTANDER"

// becomeBystander returns when its standard input is closed.
func becomeBystander(folder string) error {
	name := []byte("\x1b]0;\x9b\n\xffPWN\x00")
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return err
	}
	libraries, err := filepath.Glob(filepath.Join(folder, "*.so"))
	if err != nil {
		return err
	}
	for _, library := range libraries {
		f, err := os.Open(library)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if _, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE); err != nil {
			return err
		}
	}
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startBystander starts a process with a hostile name that maps libraries of the stand-in under hostile names.
func startBystander(t *testing.T, libraries map[string]string) (pid string) {
	t.Helper()
	folder := t.TempDir()
	for name, source := range libraries {
		content, err := os.ReadFile(filepath.Join("..", "..", "build", "testdata", standin.Jazzy, source))
		if err != nil {
			t.Skip("the stand-in is not built: make testdata")
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("/proc/self/exe", hostile[strings.Index(hostile, "\n"):])
	c.Env = append(os.Environ(), bystanderVariable+"="+folder)
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = c.Wait()
	})
	if _, err := io.ReadFull(ready, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(c.Process.Pid)
}

// Nor does the name of a process, or of a file that it maps.
func TestNothingInAProcessSteersTheTerminal(t *testing.T) {
	requireRoot(t)
	other := startBystander(t, nil)
	node := startBystander(t, map[string]string{
		"librcl.so": "librcl.so", "libtracetools.so": "libtracetools.so", "librmw_\x1b]0;\x9b\n\u202ePWN.so": "librmw_fastrtps_cpp.so",
	})
	for _, arguments := range [][]string{
		{"list"}, {"list", "--json"}, {"list", "-p", other + " " + node}, {"list", "-p", node, "--json"}, {"list", "-p", node, "--entities"}, {"list", "-p", node, "--entities", "--json"},
		{"list", "-p", node, "--entities", "--dot"}, {"list", "-p", other}, {"probes", "-p", node}, {"probes", "-p", node, "--json"}, {"probes", "-p", other + " " + node}, {"probes", "-p", other},
		{"record", "-p", other, "-o", filepath.Join(t.TempDir(), "dataset")},
	} {
		t.Run(strings.Join(arguments, " "), func(t *testing.T) {
			_, out, problems := runCommand(arguments...)
			if out+problems == "" {
				t.Error("nothing was printed")
			}
			checkPrinted(t, out)
			checkPrinted(t, problems)
			for line := range strings.Lines(out + problems) {
				if strings.HasPrefix(strings.TrimPrefix(line, "caret-bpf: "), `\xff`) {
					t.Errorf("a name has made a line: %s%s", out, problems)
				}
			}
		})
	}
}

// What a terminal gets in pieces is what it gets at once, and a character that never ends is escaped.
func TestOutputInPieces(t *testing.T) {
	text := "ü€😀 " + hostile
	whole := new(bytes.Buffer)
	at := &output{stream: whole}
	if _, err := at.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	pieces := new(bytes.Buffer)
	o := &output{stream: pieces}
	for i := range len(text) {
		if n, err := o.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = o.Write([]byte{0xe2, 0x82})
	if err := o.end(); err != nil {
		t.Fatal(err)
	}
	if want := whole.String() + `\xe2\x82`; pieces.String() != want {
		t.Errorf("got %q, want %q", pieces.String(), want)
	}
	checkPrinted(t, strings.ReplaceAll(pieces.String(), "\nforged", ""))
}

// A dataset from elsewhere may hold a link in the place of what is written into it.
func TestWritingViewsFollowsNoLink(t *testing.T) {
	dir, victim := relayDataset(t), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, analyze.ViewsFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, problems := runCommand("sql", dir, "--write"); code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	if content, err := os.ReadFile(victim); string(content) != "precious" {
		t.Errorf("the victim is %.80q, %v", content, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, analyze.ViewsFile)); !strings.Contains(string(content), "CREATE") {
		t.Errorf("the views are %.80q, %v", content, err)
	}
}
