package probes

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// eventsOf returns the events that a plan has sites of, each once, in order.
func eventsOf(sites []Site) []abi.Event {
	var events []abi.Event
	for _, site := range sites {
		events = append(events, site.Event)
	}
	slices.Sort(events)
	return slices.Compact(events)
}

func missingOf(plan *Plan) map[abi.Event]string {
	missing := make(map[abi.Event]string)
	for _, m := range plan.Missing {
		missing[m.Event] = m.Reason
	}
	return missing
}

func siteOf(t *testing.T, plan *Plan, event abi.Event) Site {
	t.Helper()
	index := slices.IndexFunc(plan.Sites, func(s Site) bool { return s.Event == event })
	if index < 0 {
		t.Fatalf("no site of %s; missing: %v", event, missingOf(plan))
	}
	return plan.Sites[index]
}

// allEvents returns the events of plans that do not ask for exceptions, without some.
func allEvents(without ...abi.Event) []abi.Event {
	var events []abi.Event
	for _, entry := range catalogue {
		if entry.Event != abi.EventExceptionCaught && !slices.Contains(without, entry.Event) {
			events = append(events, entry.Event)
		}
	}
	return events
}

func lastLayers(plan *Plan) []abi.Event {
	var layers []abi.Event
	for _, site := range plan.Sites {
		if site.LastLayer {
			layers = append(layers, site.Event)
		}
	}
	return layers
}

func TestPlanOfRunningProcess(t *testing.T) {
	absentOnHumble := []abi.Event{
		abi.EventRclcppIPBToSubscription, abi.EventRclcppBufferToIPB, abi.EventRclcppConstructRingBuffer, abi.EventCallbackGroupToExecutorEntityCollector,
	}
	for name, test := range map[string]struct {
		libraries []fixture
		distro    distros.Distro
		missing   []abi.Event
		last      abi.Event
		stamp     *Site // what is expected of the site of dds_bind_addr_to_stamp
	}{
		"humble with Fast DDS": {
			libraries: []fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwFastDDS, fastDDS}, distro: "humble", missing: absentOnHumble,
			last: abi.EventDDSBindAddrToStamp, stamp: &Site{Form: abi.FormFastDDS, Parameter: 100, Library: "libfastrtps.so.2.6"},
		},
		"humble with Cyclone DDS": {
			libraries: []fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwCyclone, cycloneDDS}, distro: "humble", missing: absentOnHumble,
			last: abi.EventDDSBindAddrToStamp, stamp: &Site{Form: abi.FormCycloneDDSWrite, Library: "libddsc.so.0"},
		},
		"humble with Zenoh": {
			libraries: []fixture{tracetools("humble"), rclOfHumble, rclcpp("humble"), rmwZenoh}, distro: "humble",
			missing: append(absentOnHumble, abi.EventDDSBindAddrToStamp), last: abi.EventRMWPublish,
		},
		"jazzy": {
			libraries: []fixture{tracetools("jazzy"), rclOfJazzy, rclcpp("jazzy"), rmwCyclone, cycloneDDS}, distro: "jazzy",
			missing: []abi.Event{abi.EventRclcppCallbackRegister, abi.EventAddCallbackGroup, abi.EventAddCallbackGroupStaticExecutor}, last: abi.EventRMWPublish,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.libraries...)
			if p.process.Distro != test.distro {
				t.Fatalf("distro %v: %s", p.process.Distro, p.process.DistroEvidence)
			}
			plan, err := NewPlan(t.Context(), p.process, Options{Profile: ProfileFull})
			if err != nil {
				t.Fatal(err)
			}
			without := slices.Clone(test.missing)
			if test.stamp == nil {
				without = append(without, abi.EventDDSBindAddrToStamp)
			}
			if test.distro == "humble" {
				without = append(without, abi.EventRclcppRingBufferDequeue) // executor_execute carries it
			}
			if got, want := eventsOf(plan.Sites), allEvents(without...); !slices.Equal(got, want) {
				t.Errorf("sites of %v\nwant     %v", got, want)
			}
			missing := missingOf(plan)
			if len(missing) != len(test.missing) {
				t.Errorf("missing %v, want %v", missing, test.missing)
			}
			for _, event := range test.missing {
				if missing[event] == "" {
					t.Errorf("%s is not missing", event)
				}
			}
			if got := slices.Compact(lastLayers(plan)); !slices.Equal(got, []abi.Event{test.last}) {
				t.Errorf("last layers %v, want %v", got, test.last)
			}
			if test.stamp != nil {
				site := siteOf(t, plan, abi.EventDDSBindAddrToStamp)
				if site.Form != test.stamp.Form || site.Parameter != test.stamp.Parameter || site.Library != test.stamp.Library {
					t.Errorf("stamp at %+v, want %+v", site, *test.stamp)
				}
			}
			if test.distro == "humble" {
				// PublisherBase's publisher_handle_, which an accessor function of the library may prove to lie elsewhere.
				if site := siteOf(t, plan, abi.EventRclcppIntraPublish); site.Parameter != 40 {
					t.Errorf("the handle of a publisher is at %d", site.Parameter)
				}
			}
			checkSites(t, p.process, plan.Sites)
		})
	}
}

// checkProof wants a site to be proven in its file, and not elsewhere.
func checkProof(t *testing.T, site Site) {
	t.Helper()
	prover, err := NewProver(t.Context(), site.Opened)
	if err != nil {
		t.Fatal(err)
	}
	if err := prover.Prove(site); err != nil {
		t.Errorf("%s in %s is not proven: %v", site.Event, site.Symbol, err)
	}
	if len(site.Instruction) > 2 {
		inside := site
		inside.Offset, inside.Instruction = site.Offset+1, site.Instruction[2:]
		if err := prover.Prove(inside); err == nil {
			t.Errorf("%s: the middle of %s is proven, too", site.Event, site.Instruction)
		}
	}
	elsewhere := site
	elsewhere.Symbol = "no_function"
	if err := prover.Prove(elsewhere); (err == nil) != (site.Role == abi.RoleCaller || site.Role == abi.RoleReturn) {
		t.Errorf("%s: the same in a function that is not there: %v", site.Event, err)
	}
}

// checkSites compares every site with the file that it is said to be in.
func checkSites(t *testing.T, process *target.Process, sites []Site) {
	t.Helper()
	for _, site := range sites {
		checkProof(t, site)
		file, err := elffile.Open(site.Path)
		if err != nil {
			t.Errorf("%s: %v", site.Event, err)
			continue
		}
		symbol, err := file.Lookup(site.Symbol)
		if err != nil {
			t.Errorf("%s: %v", site.Event, err)
		}
		if bounds, err := file.FunctionBounds(symbol); site.Role != abi.RoleReturn && (err != nil || !bounds.Contains(site.Address)) {
			t.Errorf("%s: %#x is not in %s, %+v, %v", site.Event, site.Address, site.Symbol, bounds, err)
		}
		if offset, err := file.FileOffset(site.Address); err != nil || offset != site.Offset {
			t.Errorf("%s: offset %#x of %#x, want %#x, %v", site.Event, site.Offset, site.Address, offset, err)
		}
		module, ok := process.FindModule(strings.TrimSuffix(site.Library, ".0"))
		if !ok || module.BuildID != site.BuildID || module.Inode != site.Inode || module.Device != site.Device || site.BuildID == "" {
			t.Errorf("%s: identity of %+v differs from %+v", site.Event, site, module)
		}
		if site.Armed {
			t.Errorf("%s: a mapped file is said to be only armed", site.Event)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFormOfRMWPublish(t *testing.T) {
	for distro, want := range map[distros.Distro]abi.Form{"humble": abi.FormMessageOnly, "jazzy": abi.FormArguments} {
		rcl := rclOfHumble
		if distro == "jazzy" {
			rcl = rclOfJazzy
		}
		p := start(t, t.TempDir(), tracetools(distro), rcl)
		plan, err := NewPlan(t.Context(), p.process, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := siteOf(t, plan, abi.EventRMWPublish).Form; got != want {
			t.Errorf("%s: form %d, want %d", distro, got, want)
		}
	}
}

func TestLibraryThatIsMappedLater(t *testing.T) {
	directory := t.TempDir()
	compile(t, directory, fastDDS)
	compile(t, directory, rmwFastDDS, fastDDS)
	p := start(t, directory, tracetools("humble"), rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if layers := lastLayers(plan); len(layers) != 0 {
		t.Errorf("last layers %v though the RMW implementation is unknown", layers)
	}
	if missingOf(plan)[abi.EventDDSBindAddrToStamp] == "" {
		t.Error("dds_bind_addr_to_stamp is not missing")
	}
	before := slices.Clone(plan.Sites)
	p.load(rmwFastDDS)
	if plan, err = NewPlan(t.Context(), p.process, Options{}); err != nil {
		t.Fatal(err)
	}
	added := newSites(before, plan.Sites)
	if len(added) != 1 || added[0].Event != abi.EventDDSBindAddrToStamp || !added[0].LastLayer {
		t.Errorf("added %+v", added)
	}
	if reason, missing := missingOf(plan)[abi.EventDDSBindAddrToStamp]; missing {
		t.Errorf("still missing: %s", reason)
	}
	if removed := newSites(plan.Sites, before); len(removed) != 0 {
		t.Errorf("sites that are attached have changed: %+v", removed)
	}
}

// newSites returns the sites that were not there before.
func newSites(before, after []Site) []Site {
	return slices.DeleteFunc(slices.Clone(after), func(site Site) bool { return slices.Contains(before, site) })
}

// TestDDSLibraryAfterRMWImplementation looks at a process between the two.
func TestDDSLibraryAfterRMWImplementation(t *testing.T) {
	directory := t.TempDir()
	compile(t, directory, fastDDS)
	p := start(t, directory, tracetools("humble"), rclOfHumble, rmwFastDDS)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if layers := lastLayers(plan); len(layers) != 0 {
		t.Errorf("last layers %v though the DDS library is to come", layers)
	}
	p.load(fastDDS)
	complete, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if added := newSites(plan.Sites, complete.Sites); len(added) != 1 || !added[0].LastLayer {
		t.Errorf("added %+v", added)
	}
}

// What is mapped is planned, and the plan says that more may come.
func TestExpectedLibrariesThatAreNotRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has the rights of several users")
	}
	directory := t.TempDir()
	compile(t, directory, fastDDS)
	p := startIn(t, directory, []string{severalUsers}, tracetools("humble"), rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{Expected: true})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(plan.Unread, target.ErrNotRead) || len(plan.Sites) == 0 {
		t.Errorf("%d sites, %v", len(plan.Sites), plan.Unread)
	}
	for _, site := range plan.Sites {
		if site.Armed {
			t.Errorf("%s is armed", site.Event)
		}
	}
}

func TestExpectedLibrariesAreArmed(t *testing.T) {
	directory := t.TempDir()
	compile(t, directory, fastDDS)
	compile(t, directory, rmwFastDDS, fastDDS)
	compile(t, directory, cycloneDDS)
	compile(t, directory, rmwCyclone, cycloneDDS)
	p := start(t, directory, tracetools("humble"), rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{Expected: true})
	if err != nil {
		t.Fatal(err)
	}
	var armed []string
	for _, site := range plan.Sites {
		if site.Armed != (site.Event == abi.EventDDSBindAddrToStamp) || site.LastLayer != site.Armed {
			t.Errorf("%s: armed %v, last layer %v", site.Event, site.Armed, site.LastLayer)
		}
		if site.Armed {
			armed = append(armed, site.Library)
		}
	}
	slices.Sort(armed)
	armed = slices.Compact(armed)
	if !slices.Equal(armed, []string{"libddsc.so.0", "libfastrtps.so.2.6"}) {
		t.Errorf("armed %v", armed)
	}
	p.load(rmwCyclone)
	if plan, err = NewPlan(t.Context(), p.process, Options{Expected: true}); err != nil {
		t.Fatal(err)
	}
	for _, site := range plan.Sites {
		if site.Armed {
			t.Errorf("%s in %s: armed %v after it was mapped", site.Event, site.Library, site.Armed)
		}
		if site.Event == abi.EventDDSBindAddrToStamp && site.Library != "libddsc.so.0" {
			t.Errorf("stamps are read in %s, too", site.Library)
		}
	}
}

// TestOtherDDSLibraryIsNotProbed: a process that maps Fast DDS for another purpose than its RMW implementation.
func TestOtherDDSLibraryIsNotProbed(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble, rmwCyclone, cycloneDDS, fastDDS)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range plan.Sites {
		if site.Library == fastDDS.soname {
			t.Errorf("%+v", site)
		}
	}
}

func TestWhatCannotBePlannedIsMissing(t *testing.T) {
	without := func(f fixture, symbol string) fixture {
		f.source = strings.ReplaceAll(f.source, "void "+symbol+"(void) {}\n", "")
		return f
	}
	folded := without(tracetools("humble"), "ros_trace_rmw_take")
	folded.source += "void ros_trace_rmw_take(void) __attribute__((alias(\"ros_trace_rcl_init\")));\n"
	data := without(tracetools("humble"), "ros_trace_rmw_take")
	data.source += "int ros_trace_rmw_take;\n"
	unsafe := without(tracetools("humble"), "ros_trace_rmw_take")
	instruction := map[string]string{"amd64": "nopl 0(%rax,%rax,1)", "arm64": "ldr d16, ."}[runtime.GOARCH]
	unsafe.source += "__asm__(\".globl ros_trace_rmw_take; .type ros_trace_rmw_take,%function; ros_trace_rmw_take: " + instruction + "; ret\");\n"
	otherFastDDS := fastDDS
	otherFastDDS.soname = "libfastrtps.so.2.8"
	otherCyclone := cycloneDDS
	otherCyclone.source = strings.ReplaceAll(otherCyclone.source, "data, dds_time(), 0", "data, dds_time() + 1, 0")
	twoExecutors := rclcpp("humble")
	twoExecutors.source += "void _ZN6rclcpp8Executor22execute_any_executableEv(void) {}\n"
	for name, test := range map[string]struct {
		libraries []fixture
		event     abi.Event
		reason    string
	}{
		"no symbol": {
			[]fixture{without(tracetools("humble"), "ros_trace_rmw_take")}, abi.EventRMWTake, "libtracetools.so: ros_trace_rmw_take: symbol not found",
		},
		"folded functions":         {[]fixture{folded}, abi.EventRMWTake, "have the same code"},
		"data":                     {[]fixture{data}, abi.EventRMWTake, "not a plain function"},
		"unsafe instruction":       {[]fixture{unsafe}, abi.EventRMWTake, "no safe probe site"},
		"no library":               {[]fixture{tracetools("humble")}, abi.EventExecutorExecute, "has not mapped librclcpp.so"},
		"unknown Fast DDS":         {[]fixture{tracetools("humble"), rmwFastDDS, otherFastDDS}, abi.EventDDSBindAddrToStamp, "libfastrtps.so.2.6, libfastrtps.so.2.9"},
		"unexpected Cyclone DDS":   {[]fixture{tracetools("humble"), rmwCyclone, otherCyclone}, abi.EventDDSBindAddrToStamp, "does not pass its result"},
		"RMW without source":       {[]fixture{tracetools("humble"), rmwZenoh}, abi.EventDDSBindAddrToStamp, "rmw_zenoh_cpp on humble"},
		"two functions":            {[]fixture{tracetools("humble"), twoExecutors}, abi.EventExecutorExecute, "2 functions"},
		"absent from distribution": {[]fixture{tracetools("humble")}, abi.EventRclcppIPBToSubscription, "no such tracepoint"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.TempDir(), test.libraries...)
			plan, err := NewPlan(t.Context(), p.process, Options{})
			if err != nil {
				t.Fatal(err)
			}
			reason, missing := missingOf(plan)[test.event]
			if !missing || !strings.Contains(reason, test.reason) {
				t.Errorf("%s: missing %v, reason %q", test.event, missing, reason)
			}
			if got := lastLayers(plan); test.event == abi.EventDDSBindAddrToStamp && !slices.Equal(got, []abi.Event{abi.EventRMWPublish}) {
				t.Errorf("last layers %v", got)
			}
			for _, m := range plan.Missing {
				if m.Consequence == "" {
					t.Errorf("%s: no consequence", m.Event)
				}
			}
		})
	}
}

func TestMissingRequiredEventIsAnError(t *testing.T) {
	incomplete := tracetools("humble")
	incomplete.source = strings.ReplaceAll(incomplete.source, "void ros_trace_callback_end(void) {}\n", "")
	p := start(t, t.TempDir(), incomplete)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if !errors.Is(err, ErrRequiredMissing) || !strings.Contains(err.Error(), "callback_end") {
		t.Errorf("error %v", err)
	}
	if plan == nil || len(plan.Sites) == 0 {
		t.Error("the rest of the plan is not there")
	}
}

// TestProgramThatHasMappedNothingYet is a launched command at its first instruction: what it maps later completes the
// plan.
func TestProgramThatHasMappedNothingYet(t *testing.T) {
	directory := t.TempDir()
	incomplete := tracetools("jazzy")
	incomplete.source = strings.ReplaceAll(incomplete.source, "void ros_trace_rmw_take(void) {}\n", "")
	libraries := []fixture{incomplete, rclOfJazzy, rclcpp("jazzy")}
	for _, f := range libraries {
		compile(t, directory, f)
	}
	p := start(t, directory)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if !errors.Is(err, ErrRequiredMissing) {
		t.Fatalf("error %v", err)
	}
	for _, f := range libraries {
		p.load(f)
		if plan, err = NewPlan(t.Context(), p.process, Options{Profile: ProfileFull}); err != nil {
			t.Error(err)
		}
	}
	want := allEvents(abi.EventRclcppCallbackRegister, abi.EventDDSBindAddrToStamp, abi.EventAddCallbackGroup, abi.EventAddCallbackGroupStaticExecutor)
	if got := eventsOf(plan.Sites); !slices.Equal(got, want) {
		t.Errorf("sites of %v\nwant     %v", got, want)
	}
	if reason, want := missingOf(plan)[abi.EventRMWTake], "libtracetools.so: ros_trace_rmw_take: symbol not found"; reason != want {
		t.Errorf("reason %q, want %q", reason, want)
	}
	if got := lastLayers(plan); !slices.Equal(got, []abi.Event{abi.EventRMWPublish}) {
		t.Errorf("last layers %v", got)
	}
	checkSites(t, p.process, plan.Sites)
}

func TestFunctionOfRclIsTheFallback(t *testing.T) {
	incomplete := tracetools("humble")
	incomplete.source = strings.ReplaceAll(incomplete.source, "void ros_trace_rcl_publish(void) {}\n", "")
	p := start(t, t.TempDir(), incomplete, rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	site := siteOf(t, plan, abi.EventRclPublish)
	if site.Symbol != "rcl_publish" || site.Provenance != FromSymbol || site.Library != "librcl.so" {
		t.Errorf("site %+v", site)
	}
}

// TestTwoCopiesOfALibrary: an overlay workspace may bring its own libtracetools. Both are probed.
func TestTwoCopiesOfALibrary(t *testing.T) {
	second := tracetools("humble")
	second.soname = "libtracetools.so.2"
	p := start(t, t.TempDir(), tracetools("humble"), second, rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var libraries []string
	for _, site := range plan.Sites {
		if site.Event == abi.EventCallbackStart {
			libraries = append(libraries, site.Library)
		}
	}
	slices.Sort(libraries)
	if !slices.Equal(libraries, []string{"libtracetools.so", "libtracetools.so.2"}) {
		t.Errorf("callback_start in %v", libraries)
	}
}

func TestPlanAsJSON(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble, rmwFastDDS, fastDDS)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"distro":"humble"`, `"rmw":"rmw_fastrtps_cpp"`, `"event":"callback_start"`, `"library":"libtracetools.so"`, `"last_layer":true`,
		`"event":"rclcpp_ipb_to_subscription","reason":"Humble's tracetools has no such tracepoint`, `"provenance":"tracepoint"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	var back Plan
	if err := json.Unmarshal(text, &back); err != nil || len(back.Sites) != len(plan.Sites) || back.Sites[0].Event != plan.Sites[0].Event {
		t.Errorf("read back: %v, %+v", err, back)
	}
}

// TestOneFileUnderTwoPaths: the same real file, seen through two mounts, is probed once.
func TestOneFileUnderTwoPaths(t *testing.T) {
	p := start(t, t.TempDir(), tracetools("humble"), rclOfHumble)
	plan, err := NewPlan(t.Context(), p.process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	twins := mappedFiles(p.process.Modules)
	for i := range twins {
		twins[i].path = "/elsewhere"
		twins[i].device++
	}
	again, err := newPlan(t.Context(), p.process, slices.Concat(mappedFiles(p.process.Modules), twins), Options{})
	if err != nil || !slices.Equal(again.Sites, plan.Sites) {
		t.Errorf("sites %+v, %v; want %+v", again.Sites, err, plan.Sites)
	}
}

func TestCallsAreNotProbedUnderAShadowStack(t *testing.T) {
	file, err := elffile.Open(compile(t, t.TempDir(), cycloneDDS))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source := Source{Library: LibraryCycloneDDS, Symbol: "dds_write", AfterCallOf: "dds_time"}
	if _, err := (&Plan{}).locate(file, source, "0"); err != nil {
		t.Errorf("without a shadow stack: %v", err)
	}
	if site, err := (&Plan{shadowStack: true}).locate(file, source, "0"); err == nil {
		t.Errorf("site %+v", site)
	}
}
