package probes

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// stubs is Humble's libtracetools as it is built: with landing pads and empty bodies.
func stubs() fixture {
	f := tracetools("humble")
	f.source = strings.ReplaceAll(f.source, "(void) {}", `(void) { __asm__ volatile("endbr64"); }`)
	return f
}

// user is a library of the user that calls tracepoints. extra is more source.
func user(name, extra string) fixture {
	return fixture{name, `
extern void ros_trace_callback_start(const void *, int), ros_trace_callback_end(const void *), ros_trace_rcl_init(const void *);
extern int work(int);
int work(int n) { __asm__ volatile("" : "+r"(n)); return n; }
void callback(const void *c) { ros_trace_callback_start(c, 0); work(1); ros_trace_callback_end(c); work(2); }
void last(const void *c) { work(1); ros_trace_callback_end(c); }
void init(const void *c) { ros_trace_rcl_init(c); work(1); }
` + extra}
}

// roles counts the sites of an event by role.
func roles(plan *Plan, event abi.Event) map[abi.Role]int {
	counts := make(map[abi.Role]int)
	for _, site := range plan.Sites {
		if site.Event == event {
			counts[site.Role]++
		}
	}
	return counts
}

func TestCallersArePlannedBesideEmptyBodies(t *testing.T) {
	requireAMD64(t)
	p := start(t, t.TempDir(), stubs(), rclOfHumble, user("libuser.so", ""))
	cache := NewCache()
	for range 2 { // the second time from the cache
		plan, err := NewPlan(t.Context(), p.process, Options{Callers: true, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		for event, want := range map[abi.Event]map[abi.Role]int{
			abi.EventCallbackStart: {abi.RoleBody: 1, abi.RoleCaller: 1},
			abi.EventCallbackEnd:   {abi.RoleBody: 1, abi.RoleCaller: 2},
			abi.EventRMWTake:       {abi.RoleBody: 1, abi.RoleFunction: 4}, // nobody calls the tracepoint; rcl's functions
			abi.EventRclInit:       {abi.RoleFunction: 1},
		} {
			got := roles(plan, event)
			if event == abi.EventRMWTake {
				got[abi.RoleFunction] = want[abi.RoleFunction] // as many as the fixture has
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", event, got, want)
			}
		}
		if len(plan.Uncertain) > 0 {
			t.Errorf("uncertain: %+v", plan.Uncertain)
		}
		checkCallers(t, plan)
		checkSites(t, p.process, slices.DeleteFunc(slices.Clone(plan.Sites), func(s Site) bool { return s.Role == abi.RoleCaller }))
	}
}

// checkCallers requires that callers differ from their bodies in nothing but the place.
func checkCallers(t *testing.T, plan *Plan) {
	t.Helper()
	stack := map[string]int8{"call": -1, "jump": 0}
	for _, site := range plan.Sites {
		if site.Role != abi.RoleCaller {
			continue
		}
		checkProof(t, site)
		words, known := stack[site.Emulation]
		if !known || site.StackWords != words || site.Class != elffile.ClassEmulated || site.Required || site.Library != "libuser.so" {
			t.Errorf("%+v", site)
		}
		index := slices.IndexFunc(plan.Sites, func(body Site) bool { return body.Role == abi.RoleBody && body.Symbol == site.Symbol })
		if index < 0 {
			t.Errorf("%s has no body", site.Symbol)
			continue
		}
		body := plan.Sites[index]
		if body.Event != site.Event || body.Form != site.Form || body.LastLayer != site.LastLayer || body.Parameter != site.Parameter {
			t.Errorf("caller %+v of body %+v", site, body)
		}
	}
}

func TestUncertainCallers(t *testing.T) {
	requireAMD64(t)
	p := start(t, t.TempDir(), stubs(), rclOfHumble, user("libuser.so", "void *pointer = (void *)ros_trace_callback_end;\n"))
	plan, err := NewPlan(t.Context(), p.process, Options{Callers: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Uncertain) != 1 || plan.Uncertain[0].Event != abi.EventCallbackEnd || plan.Uncertain[0].Library != "libuser.so" || plan.Uncertain[0].Reason == "" {
		t.Fatalf("uncertain: %+v", plan.Uncertain)
	}
	if module, _ := p.process.FindModule("libuser.so"); plan.Uncertain[0].File != module.File || module.File == (target.FileID{}) {
		t.Errorf("uncertain: %+v, the file is %+v", plan.Uncertain, module.File)
	}
}

func TestNoCallersArePlanned(t *testing.T) {
	requireAMD64(t)
	withPush := stubs()
	withPush.source = strings.ReplaceAll(withPush.source, `"endbr64"`, `"endbr64; push %rbx; pop %rbx"`)
	for name, test := range map[string]struct {
		tracetools fixture
		options    Options
	}{
		"not wanted":          {stubs(), Options{}},
		"only entries wanted": {stubs(), Options{Callers: true, Choice: ChooseEntries}},
		"bodies with a push":  {withPush, Options{Callers: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.tracetools, rclOfHumble, user("libuser.so", ""))
			plan, err := NewPlan(t.Context(), p.process, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := roles(plan, abi.EventCallbackStart); !maps.Equal(got, map[abi.Role]int{abi.RoleFunction: 1}) {
				t.Errorf("%v", got)
			}
			emulated := name == "bodies with a push"
			if site := siteOf(t, plan, abi.EventCallbackStart); (site.Class == elffile.ClassEmulated) != emulated {
				t.Errorf("%+v", site)
			}
		})
	}
}

// TestCallsInFunctions: links that are shared by processes must not be at calls, because one of them may have a shadow
// stack.
func TestCallsInFunctions(t *testing.T) {
	requireAMD64(t)
	withCall := stubs()
	withCall.source = strings.ReplaceAll(withCall.source, `"endbr64"`, `"endbr64; sub $8,%rsp; call 1f; 1: add $16,%rsp"`)
	p := start(t, t.TempDir(), withCall, rclOfHumble)
	for callers, want := range map[bool]string{true: "call", false: ""} {
		plan, err := NewPlan(t.Context(), p.process, Options{Callers: callers})
		if err != nil {
			t.Fatal(err)
		}
		if site := siteOf(t, plan, abi.EventCallbackStart); site.Emulation != want || site.StackWords != map[bool]int8{true: 1}[callers] {
			t.Errorf("callers %v: %+v", callers, site)
		}
	}
}

// TestEntriesAreFirstInstructions: what entries means.
func TestEntriesAreFirstInstructions(t *testing.T) {
	requireAMD64(t)
	withPush := stubs()
	withPush.source = strings.ReplaceAll(withPush.source, `"endbr64"`, `"endbr64; push %rbx; pop %rbx"`)
	p := start(t, t.TempDir(), withPush, rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{Choice: ChooseEntries})
	if err != nil {
		t.Fatal(err)
	}
	if site := siteOf(t, plan, abi.EventCallbackStart); site.Instruction != "f30f1efa" || site.StackWords != 0 {
		t.Errorf("%+v", site)
	}
}

func TestFilesThatCannotBeReadAreUncertain(t *testing.T) {
	cache := NewCache()
	for range 2 {
		callers := cache.callersIn(t.Context(), []file{{openErr: os.ErrPermission, id: target.FileID{Inode: 1}}})[0]
		if len(callers.Known) > 0 || callers.Uncertain["ros_trace_callback_start"] == "" {
			t.Errorf("%+v", callers)
		}
	}
	if len(cache.callers) > 0 {
		t.Error("what could not be read is taken for read")
	}
}

func TestRoleText(t *testing.T) {
	for _, role := range []abi.Role{abi.RoleFunction, abi.RoleCaller, abi.RoleBody, abi.RoleReturn, abi.RoleOwnBody} {
		text, err := json.Marshal(role)
		if err != nil {
			t.Fatal(err)
		}
		var back abi.Role
		if err := json.Unmarshal(text, &back); err != nil || back != role {
			t.Errorf("%s was read as %v, %v", text, back, err)
		}
	}
	if err := new(abi.Role).UnmarshalText([]byte("bystander")); err == nil {
		t.Error("read an unknown role")
	}
}

func TestCookieOfCallers(t *testing.T) {
	site := Site{Event: abi.EventRMWPublish, Form: abi.FormMessageOnly, LastLayer: true, Parameter: 0x1234, Role: abi.RoleCaller, StackWords: -1}
	if got, want := site.Cookie(), uint64(0x1234<<33|0xff<<25|5<<20|0x03_01_05); got != want {
		t.Errorf("cookie %#x, want %#x", got, want)
	}
}

func TestKernelVersions(t *testing.T) {
	for release, want := range map[string]elffile.KernelVersion{
		"6.12.31-rt10": {Major: 6, Minor: 12}, "6.1.0-32-amd64": {Major: 6, Minor: 1}, "7.0": {Major: 7}, "unknown": {},
	} {
		if got := parseKernelVersion(release); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}
