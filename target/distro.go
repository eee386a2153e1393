package target

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/elffile"
)

// distroSet is a set of distributions, one bit each in the order of distros.All. The empty set means "says nothing".
type distroSet uint8

// anyDistro is the set of all.
func anyDistro() distroSet { return 1<<len(distros.All()) - 1 }

// only is the set of one distribution, the empty one if there is no such distribution.
func only(distro distros.Distro) distroSet {
	if place := slices.Index(distros.All(), distro); place >= 0 {
		return 1 << place
	}
	return 0
}

// since is the set of the distributions from one on, Rolling included.
func since(first distros.Distro) distroSet { return anyDistro() &^ (only(first) - 1) }

// before is the set of the distributions older than one.
func before(first distros.Distro) distroSet { return only(first) - 1 }

func (s distroSet) String() string {
	var names []string
	for i, distro := range distros.All() {
		if s>>i&1 != 0 {
			names = append(names, string(distro))
		}
	}
	return strings.Join(names, " or ")
}

func (s distroSet) single() (distros.Distro, bool) {
	if bits.OnesCount8(uint8(s)) != 1 {
		return distros.Unknown, false
	}
	return distros.All()[bits.TrailingZeros8(uint8(s))], true
}

// evidence is what one library's contents say of the distribution.
type evidence struct {
	distros distroSet
	reason  string
}

// Symbols of librclcpp.so that changed from one distribution to the next.
const (
	// execute_timer(shared_ptr<TimerBase>): Humble and Iron.
	executeTimer = "_ZN6rclcpp8Executor13execute_timerESt10shared_ptrINS_9TimerBaseEE"
	// execute_timer(shared_ptr<TimerBase>, const shared_ptr<void> &): Jazzy and Kilted.
	executeTimerWithData = executeTimer + "RKS1_IvE"
	// execute_timer(const shared_ptr<TimerBase> &, …): from Lyrical on.
	executeTimerByReference = "_ZN6rclcpp8Executor13execute_timerERKSt10shared_ptr"
	// The class ExecutorEntitiesCollector: from Iron on.
	entitiesCollector = "_ZN6rclcpp9executors25ExecutorEntitiesCollector"
	// The class GenericService: from Kilted on.
	genericService = "_ZN6rclcpp14GenericService"
)

// distroEvidence looks at a library's exported symbols, or for Fast DDS at its soname, whose version follows the
// distribution unless the user chose another.
func distroEvidence(file *elffile.File, soname string) evidence {
	exports := func(name string) bool {
		found, err := file.Exports(name)
		return err == nil && found
	}
	exportsPrefix := func(prefix string) bool {
		symbols, err := file.LookupPrefix(prefix)
		return err == nil && len(symbols) > 0
	}
	switch {
	case isVersionOf(soname, "libtracetools.so"):
		switch {
		case !exports("ros_trace_rcl_init"):
			return evidence{}
		case exports("ros_trace_rmw_send_request"):
			return evidence{since(distros.Kilted), "libtracetools.so has ros_trace_rmw_send_request"}
		case exports("ros_trace_enabled_rcl_init"):
			return evidence{since(distros.Iron) & before(distros.Kilted), "libtracetools.so has ros_trace_enabled_*, not ros_trace_rmw_send_request"}
		}
		return evidence{before(distros.Iron), "libtracetools.so has no ros_trace_enabled_*"}

	case isVersionOf(soname, "librclcpp.so"):
		switch {
		case exportsPrefix(executeTimerByReference):
			return evidence{since(distros.Lyrical), "librclcpp.so executes timers by reference"}
		case exports(executeTimerWithData) && exportsPrefix(genericService):
			return evidence{only(distros.Kilted), "librclcpp.so passes timers data and has GenericService"}
		case exports(executeTimerWithData):
			return evidence{only(distros.Jazzy), "librclcpp.so passes timers data and has no GenericService"}
		case exports(executeTimer) && exportsPrefix(entitiesCollector):
			return evidence{only(distros.Iron), "librclcpp.so passes timers no data and has ExecutorEntitiesCollector"}
		case exports(executeTimer):
			return evidence{only(distros.Humble), "librclcpp.so has no ExecutorEntitiesCollector"}
		}

	case isVersionOf(soname, "librcl.so"):
		switch {
		case exports("rcl_timer_init2"):
			return evidence{since(distros.Jazzy), "librcl.so has rcl_timer_init2"}
		case exports("rcl_timer_init"):
			return evidence{before(distros.Jazzy), "librcl.so has no rcl_timer_init2"}
		}

	case isVersionOf(soname, "libfastrtps.so"), isVersionOf(soname, "libfastdds.so"):
		for version, of := range fastDDSVersions {
			if isVersionOf(soname, version) {
				return evidence{of, "Fast DDS is " + soname}
			}
		}
	}
	return evidence{}
}

var fastDDSVersions = map[string]distroSet{
	"libfastrtps.so.2.6":  only(distros.Humble),
	"libfastrtps.so.2.10": only(distros.Iron),
	"libfastrtps.so.2.14": only(distros.Jazzy),
	"libfastdds.so.3.2":   only(distros.Kilted),
	"libfastdds.so.3.6":   since(distros.Lyrical),
}

// evidenceOrder is from the library whose object layouts differ most between distributions to the one that users
// replace most freely.
var evidenceOrder = []string{"librclcpp.so", "librcl.so", "libtracetools.so", "libfastrtps.so", "libfastdds.so"}

// detectDistro narrows the distributions down, strongest evidence first, until one is left. Evidence that
// contradicts stronger evidence is told but does not count. find returns the file of a library, nil if there is none.
func (p *Process) detectDistro(ctx context.Context, find func(library string) *OpenFile) (distros.Distro, string) {
	possible := anyDistro()
	var reasons []string
	consider := func(e evidence) (distros.Distro, bool) {
		if e.distros == 0 {
			return distros.Unknown, false
		}
		if possible&e.distros == 0 {
			reasons = append(reasons, fmt.Sprintf("ignored: %s (%s)", e.reason, e.distros))
			return distros.Unknown, false
		}
		if narrowed := possible & e.distros; narrowed != possible {
			possible = narrowed
			reasons = append(reasons, fmt.Sprintf("%s (%s)", e.reason, e.distros))
		}
		return possible.single()
	}
	for _, library := range evidenceOrder {
		opened := find(library)
		if opened == nil {
			continue
		}
		facts := p.finder.factsOf(ctx, opened)
		if facts.err != nil {
			continue
		}
		if distro, decided := consider(facts.evidence); decided {
			return distro, strings.Join(reasons, "; ")
		}
	}
	if distro, decided := consider(p.pathEvidence()); decided {
		return distro, strings.Join(reasons, "; ")
	}
	if name, found, err := p.Environment("ROS_DISTRO"); err == nil && found {
		if distro, decided := consider(evidence{only(distros.Distro(name)), "environment ROS_DISTRO=" + name}); decided {
			return distro, strings.Join(reasons, "; ")
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"no library, path or variable tells"}
	}
	return distros.Unknown, strings.Join(reasons, "; ")
}

// Contradiction says what an open file shows that speaks against the process's distribution, "" if nothing does. A file
// that is of no distribution in particular contradicts none.
func (p *Process) Contradiction(ctx context.Context, opened *OpenFile) string {
	says := p.finder.factsOf(ctx, opened).evidence
	if says.distros == 0 || says.distros&only(p.Distro) != 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", says.reason, says.distros)
}

// mappedLibrary returns the file of a library that the process maps, nil if it maps none that can be opened.
func (p *Process) mappedLibrary(library string) *OpenFile {
	module, _ := p.FindModule(library)
	return module.opened
}

// pathEvidence is the distribution in whose install prefix the ROS 2 libraries are.
func (p *Process) pathEvidence() evidence {
	for _, library := range append([]string{"librclcpp.so"}, ros2Libraries...) {
		module, found := p.FindModule(library)
		if !found {
			continue
		}
		rest, underPrefix := strings.CutPrefix(module.Path, "/opt/ros/")
		name, _, isDirectory := strings.Cut(rest, "/")
		if underPrefix && isDirectory && only(distros.Distro(name)) != 0 {
			return evidence{only(distros.Distro(name)), library + " is in /opt/ros/" + name}
		}
	}
	return evidence{}
}
