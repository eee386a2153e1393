package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/elffile"
)

// functions is C source of empty functions of those names.
func functions(names ...string) string {
	var source strings.Builder
	for _, name := range names {
		source.WriteString("void " + name + "(void) {}\n")
	}
	return source.String()
}

// processWith is a process that maps those libraries, for what follows from the files alone.
func processWith(t *testing.T, paths ...string) *Process {
	t.Helper()
	process := &Process{finder: NewFinderAt(t.TempDir()), pidfd: -1}
	process.PID = 1
	for i, path := range paths {
		learned := learnPath(t, process.finder, path)
		if learned.err != nil {
			t.Fatal(learned.err)
		}
		process.hold(learned.opened)
		process.Modules = append(process.Modules, Module{
			Path: path, Soname: learned.facts.soname, BuildID: learned.facts.buildID, openPath: path, opened: learned.opened,
			Mappings: []Mapping{{Start: uint64(i+1) << 20, End: uint64(i+1)<<20 + 4096, Perm: "r-xp"}},
		})
	}
	return process
}

func TestDetectDistroByLibraries(t *testing.T) {
	const (
		byReference = executeTimerByReference + "INS_9TimerBaseEE"
		collector   = entitiesCollector + "5cleanEv"
		generic     = genericService + "14handle_requestEv"
	)
	directory := t.TempDir()
	build := func(folder, soname string, names ...string) string {
		t.Helper()
		path := filepath.Join(directory, folder)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return buildLibrary(t, path, soname, functions(names...))
	}
	tracetoolsHumble := build("humble", "libtracetools.so", "ros_trace_rcl_init")
	tracetoolsIron := build("iron", "libtracetools.so", "ros_trace_rcl_init", "ros_trace_enabled_rcl_init")
	tracetoolsKilted := build("kilted", "libtracetools.so", "ros_trace_rcl_init", "ros_trace_enabled_rcl_init", "ros_trace_rmw_send_request")
	tracetoolsForeign := build("foreign", "libtracetools.so", "something_else")
	rclHumble := build("humble", "librcl.so", "rcl_init", "rcl_timer_init")
	rclJazzy := build("jazzy", "librcl.so", "rcl_init", "rcl_timer_init", "rcl_timer_init2")
	rclcppHumble := build("humble", "librclcpp.so", executeTimer)
	rclcppIron := build("iron", "librclcpp.so", executeTimer, collector)
	rclcppJazzy := build("jazzy", "librclcpp.so", executeTimerWithData, collector)
	rclcppKilted := build("kilted", "librclcpp.so", executeTimerWithData, collector, generic)
	rclcppLyrical := build("lyrical", "librclcpp.so", byReference, collector, generic)
	fastDDSHumble := build("humble", "libfastrtps.so.2.6", "f")
	fastDDSJazzy := build("jazzy", "libfastrtps.so.2.14", "f")
	fastDDSKilted := build("kilted", "libfastdds.so.3.2", "f")
	fastDDSDebian := build("debian", "libfastrtps.so.2.9", "f")

	for name, test := range map[string]struct {
		libraries []string
		distro    distros.Distro
		evidence  string
	}{
		"humble":                            {[]string{tracetoolsHumble, rclHumble, rclcppHumble}, distros.Humble, "ExecutorEntitiesCollector"},
		"humble without rclcpp":             {[]string{tracetoolsHumble, rclHumble}, distros.Humble, "ros_trace_enabled_"},
		"iron":                              {[]string{tracetoolsIron, rclHumble, rclcppIron}, distros.Iron, "ExecutorEntitiesCollector"},
		"iron without rclcpp":               {[]string{tracetoolsIron, rclHumble}, distros.Iron, "rcl_timer_init2"},
		"jazzy":                             {[]string{tracetoolsIron, rclJazzy, rclcppJazzy}, distros.Jazzy, "GenericService"},
		"jazzy without rclcpp":              {[]string{tracetoolsIron, rclJazzy}, distros.Jazzy, "rcl_timer_init2"},
		"kilted":                            {[]string{tracetoolsKilted, rclJazzy, rclcppKilted}, distros.Kilted, "GenericService"},
		"kilted by Fast DDS":                {[]string{tracetoolsKilted, rclJazzy, fastDDSKilted}, distros.Kilted, "Fast DDS"},
		"lyrical and rolling look the same": {[]string{tracetoolsKilted, rclJazzy, rclcppLyrical}, distros.Unknown, "lyrical or rolling"},
		"librcl and Fast DDS of humble":     {[]string{rclHumble, fastDDSHumble}, distros.Humble, "Fast DDS is libfastrtps.so.2.6"},
		"another Fast DDS":                  {[]string{tracetoolsHumble, rclHumble, fastDDSDebian}, distros.Humble, ""},
		"a newer Fast DDS":                  {[]string{rclHumble, fastDDSJazzy}, distros.Unknown, "ignored: Fast DDS"},
		"another libtracetools":             {[]string{tracetoolsForeign}, distros.Unknown, "no library"},
		"only librcl":                       {[]string{rclHumble}, distros.Unknown, "humble or iron"},
	} {
		t.Run(name, func(t *testing.T) {
			process := processWith(t, test.libraries...)
			distro, evidence := process.detectDistro(t.Context(), process.mappedLibrary)
			if distro != test.distro || !strings.Contains(evidence, test.evidence) {
				t.Errorf("%v because %q", distro, evidence)
			}
		})
	}
}

func TestDetectDistroByWeakEvidence(t *testing.T) {
	directory := t.TempDir()
	library := buildLibrary(t, directory, "librcl.so", functions("rcl_timer_init"))
	for name, test := range map[string]struct {
		path, variable string
		distro         distros.Distro
	}{
		"prefix":                 {"/opt/ros/humble/lib/librcl.so", "", distros.Humble},
		"prefix before variable": {"/opt/ros/iron/lib/librcl.so", "humble", distros.Iron},
		"variable":               {"/home/user/workspace/lib/librcl.so", "iron", distros.Iron},
		"prefix contradicts":     {"/opt/ros/jazzy/lib/librcl.so", "", distros.Unknown},
		"variable contradicts":   {"/home/user/lib/librcl.so", "rolling", distros.Unknown},
		"unknown name":           {"/opt/ros/foxy/lib/librcl.so", "galactic", distros.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			process := processWith(t, library)
			process.Modules[0].Path = test.path
			folder := process.finder.processPath(1, "")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "environ"), []byte("A=b\x00ROS_DISTRO="+test.variable+"\x00"), 0o600); err != nil {
				t.Fatal(err)
			}
			if distro, evidence := process.detectDistro(t.Context(), process.mappedLibrary); distro != test.distro {
				t.Errorf("%v because %q", distro, evidence)
			}
		})
	}
}

// The installed distributions' own libraries say what they are, each alone and all together.
func TestDetectDistroOfInstalled(t *testing.T) {
	prefixes, err := filepath.Glob("/opt/ros/*/lib")
	if err != nil || len(prefixes) == 0 {
		t.Skip("no ROS 2 is installed in /opt/ros")
	}
	for _, prefix := range prefixes {
		name, _, _ := strings.Cut(filepath.Base(filepath.Dir(prefix)), "-")
		t.Run(name, func(t *testing.T) {
			var libraries []string
			for _, library := range evidenceOrder[:3] {
				path := filepath.Join(prefix, library)
				file, err := elffile.Open(path)
				if err != nil {
					t.Skip("incomplete: ", err)
				}
				soname, err := file.Soname()
				if err != nil {
					t.Fatal(err)
				}
				found := distroEvidence(file, soname)
				file.Close()
				t.Logf("%s: %s (%s)", library, found.reason, found.distros)
				if found.distros&only(distros.Distro(name)) == 0 {
					t.Errorf("%s says %s", library, found.distros)
				}
				libraries = append(libraries, path)
			}
			process := processWith(t, libraries...)
			for i := range process.Modules { // the path must not decide
				process.Modules[i].Path = filepath.Join("/elsewhere", process.Modules[i].Name())
			}
			if distro, evidence := process.detectDistro(t.Context(), process.mappedLibrary); string(distro) != name {
				t.Errorf("%v because %s", distro, evidence)
			}
		})
	}
}

func TestRMWName(t *testing.T) {
	for fileName, expected := range map[string]string{
		"librmw_fastrtps_cpp.so":                   "rmw_fastrtps_cpp",
		"librmw_fastrtps_dynamic_cpp.so":           "rmw_fastrtps_dynamic_cpp",
		"librmw_cyclonedds_cpp.so":                 "rmw_cyclonedds_cpp",
		"librmw_zenoh_cpp.so":                      "rmw_zenoh_cpp",
		"librmw_connextdds.so":                     "rmw_connextdds",
		"librmw_fastrtps_cpp.so.6.2.10":            "rmw_fastrtps_cpp",
		"librmw_fastrtps_shared_cpp.so":            "",
		"librmw_implementation.so":                 "",
		"librmw_dds_common.so":                     "",
		"librmw.so":                                "",
		"librmw_fastrtps_cpp.so_old":               "",
		"rmw_fastrtps_cpp.so":                      "",
		"librmw_fastrtps_cpp":                      "",
		"librcl.so":                                "",
		"":                                         "",
		"librmw_dds_common__rosidl_generator_c.so": "",
	} {
		if name, ok := rmwName(fileName); name != expected || ok != (expected != "") {
			t.Errorf("%q: %q, %v", fileName, name, ok)
		}
	}
}
