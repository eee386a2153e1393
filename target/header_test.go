package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	scanType     = "lidar_msgs/msg/Scan"
	typeSupport  = "/lib/liblidar_msgs__rosidl_typesupport_cpp.so"
	scanFile     = "/share/lidar_msgs/msg/Scan.msg"
	humblePrefix = "/opt/ros/humble"
)

func TestHeaderOffset(t *testing.T) {
	const withHeader, withoutHeader = "std_msgs/Header header\nuint32 height\n", "uint32 height\n"
	for name, test := range map[string]struct {
		environment   string
		files         map[string]string
		installed     []string
		mapped        []string
		links         map[string]string
		ok            bool
		errorContains string
	}{
		"where the library is": {
			files: map[string]string{humblePrefix + scanFile: withHeader}, mapped: []string{humblePrefix + typeSupport}, ok: true,
		},
		"in an architecture's directory": {
			files:  map[string]string{humblePrefix + scanFile: withHeader},
			mapped: []string{humblePrefix + "/lib/" + multiarch() + "/liblidar_msgs__rosidl_generator_c.so"}, ok: true,
		},
		"no header": {
			files: map[string]string{humblePrefix + scanFile: withoutHeader}, mapped: []string{humblePrefix + typeSupport},
		},
		"the mapped prefix counts, not the environment": {
			environment: "/ws/install:" + humblePrefix,
			files:       map[string]string{"/ws/install" + scanFile: withoutHeader, humblePrefix + scanFile: withHeader},
			installed:   []string{"/ws/install" + typeSupport}, mapped: []string{humblePrefix + typeSupport}, ok: true,
		},
		"the environment while nothing is mapped": {
			environment: "/empty:relative:/ws/install:" + humblePrefix,
			files:       map[string]string{"/ws/install" + scanFile: withHeader, humblePrefix + scanFile: withoutHeader}, ok: true,
		},
		"libraries linked into the prefix": {
			environment: "/ws/install:" + humblePrefix,
			files:       map[string]string{"/ws/src/lidar_msgs/Scan.msg": withHeader, humblePrefix + scanFile: withoutHeader},
			mapped:      []string{"/ws/build/lidar_msgs/liblidar_msgs__rosidl_typesupport_cpp.so"},
			links: map[string]string{
				"/ws/install" + typeSupport: "/ws/build/lidar_msgs/liblidar_msgs__rosidl_typesupport_cpp.so",
				"/ws/install" + scanFile:    "../../../../src/lidar_msgs/Scan.msg",
			},
			ok: true,
		},
		"a prefix by two names": {
			environment: "/opt/ros/current",
			files:       map[string]string{humblePrefix + scanFile: withHeader}, mapped: []string{humblePrefix + typeSupport},
			links: map[string]string{"/opt/ros/current": humblePrefix}, ok: true,
		},
		"IDL only": {
			files:  map[string]string{humblePrefix + "/share/lidar_msgs/msg/Scan.idl": "module lidar_msgs { module msg { struct Scan { std_msgs::msg::Header header; }; }; };"},
			mapped: []string{humblePrefix + typeSupport}, ok: true,
		},
		"a definition that is not the library's": {
			environment: "/ws/install",
			files:       map[string]string{"/ws/install" + scanFile: withHeader}, mapped: []string{"/elsewhere" + typeSupport},
			errorContains: "no definition among 2 ament prefixes",
		},
		"no definition anywhere": {errorContains: "no definition"},
		"libraries from two prefixes": {
			files:         map[string]string{"/ws/install" + scanFile: withHeader, humblePrefix + scanFile: withHeader},
			mapped:        []string{"/ws/install" + typeSupport, humblePrefix + "/lib/liblidar_msgs__rosidl_generator_c.so"},
			errorContains: "several prefixes: /ws/install, /opt/ros/humble",
		},
		"another package's library": {
			environment: "/ws/install",
			files:       map[string]string{"/ws/install" + scanFile: withHeader},
			mapped:      []string{humblePrefix + "/lib/liblidar_msgs__x__rosidl_typesupport_cpp.so", humblePrefix + "/lib/liblidar_msgs_more.so"}, ok: true,
		},
		"not a definition": {
			files: map[string]string{humblePrefix + scanFile: "garbage"}, mapped: []string{humblePrefix + typeSupport}, errorContains: "Scan.msg: message definition",
		},
		"too long a file": {
			files: map[string]string{humblePrefix + scanFile: strings.Repeat("#", maxDefinitionSize+1)}, mapped: []string{humblePrefix + typeSupport},
			errorContains: "Scan.msg: more than 262144 bytes",
		},
		"header later and no introspection library": {
			files: map[string]string{humblePrefix + scanFile: "int8 x\n" + withHeader}, mapped: []string{humblePrefix + typeSupport},
			errorContains: "not the first field",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFakeProcess(t, "AMENT_PREFIX_PATH="+test.environment)
			for path, content := range test.files {
				fake.writeRoot(path, content)
			}
			for path, destination := range test.links {
				fake.linkRoot(destination, path)
			}
			for _, path := range append(test.installed, test.mapped...) {
				fake.install(path)
			}
			fake.install("/opt/ros/humble/lib/librcl.so")
			fake.mapLibrary("/opt/ros/humble/lib/librcl.so")
			for _, path := range test.mapped {
				fake.mapLibrary(path)
			}
			process := fake.open()
			for range 2 { // what is remembered must be the same
				offset, ok, err := process.HeaderOffset(t.Context(), scanType)
				if offset != 0 || ok != test.ok {
					t.Errorf("offset %d, %v", offset, ok)
				}
				if (err != nil) != (test.errorContains != "") || err != nil && !strings.Contains(err.Error(), test.errorContains) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// linkRoot makes a symbolic link in the process's root directory.
func (f *fakeProcess) linkRoot(destination, path string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.inRoot(path)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Symlink(destination, f.inRoot(path)); err != nil {
		f.t.Fatal(err)
	}
}

func TestHeaderOffsetOfGeneratedMessages(t *testing.T) {
	fake := newFakeProcess(t)
	fake.install("/opt/ros/humble/lib/librcl.so")
	fake.mapLibrary("/opt/ros/humble/lib/librcl.so")
	process := fake.open()
	for messageType, known := range map[string]bool{
		"example_interfaces/action/Fibonacci_FeedbackMessage": true, "example_interfaces/action/Fibonacci_SendGoal_Event": true,
		"std_srvs/srv/Trigger_Event": true, "std_srvs/srv/Trigger_Request": false, "example_interfaces/action/Fibonacci_Goal": false,
		"lidar_msgs/msg/A_FeedbackMessage": false, "lidar_msgs/msg/A_Event": false, "../msg/x": false, "": false,
	} {
		if offset, ok, err := process.HeaderOffset(t.Context(), messageType); offset != 0 || ok || (err == nil) != known {
			t.Errorf("%s: %d, %v, %v", messageType, offset, ok, err)
		}
	}
}

// What the process has mapped decides for good; what only the environment says may change.
func TestHeaderOffsetAfterMapping(t *testing.T) {
	fake := newFakeProcess(t, "AMENT_PREFIX_PATH=/ws/install")
	fake.writeRoot("/ws/install"+scanFile, "uint32 height")
	fake.writeRoot(humblePrefix+scanFile, "std_msgs/Header header")
	fake.install("/opt/ros/humble/lib/librcl.so")
	fake.install(humblePrefix + typeSupport)
	fake.mapLibrary("/opt/ros/humble/lib/librcl.so")
	process := fake.open()
	if _, ok, err := process.HeaderOffset(t.Context(), scanType); ok || err != nil {
		t.Errorf("before: %v, %v", ok, err)
	}
	fake.mapLibrary(humblePrefix + typeSupport)
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := process.HeaderOffset(t.Context(), scanType); !ok || err != nil {
		t.Errorf("mapped: %v, %v", ok, err)
	}
	fake.writeRoot(humblePrefix+scanFile, "uint32 height")
	if _, ok, err := process.HeaderOffset(t.Context(), scanType); !ok || err != nil {
		t.Errorf("after the package was replaced: %v, %v", ok, err)
	}
	fake.writeProcess("maps", strings.ReplaceAll(fake.maps.String(), "typesupport_cpp.so", "typesupport_cpp.so (deleted)"))
	if _, err := process.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := process.HeaderOffset(t.Context(), "lidar_msgs/msg/Scan2"); ok || err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("another type of the replaced package: %v, %v", ok, err)
	}
	if err := os.RemoveAll(fake.processPath("")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := process.HeaderOffset(t.Context(), "lidar_msgs/msg/Scan2"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("after the process has ended: %v", err)
	}
}

// A node has mapped the libraries of the messages that it uses; of others its environment tells.
func TestROSHeaderOffset(t *testing.T) {
	ready, err := filepath.Glob("/opt/ros/*/READY")
	if err != nil || len(ready) == 0 {
		t.Skip("no complete ROS 2 is installed in /opt/ros")
	}
	for _, marker := range ready {
		prefix := filepath.Dir(marker)
		t.Run(filepath.Base(prefix), func(t *testing.T) {
			process := startTalker(t, prefix, "rmw_cyclonedds_cpp")
			for len(process.packageLibraries("std_msgs")) == 0 { // it maps them with its publisher
				if _, err := process.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			for messageType, expected := range map[string]bool{
				"std_msgs/msg/String": false, "rcl_interfaces/msg/ParameterEvent": false, "sensor_msgs/msg/PointCloud2": true, "geometry_msgs/msg/PoseStamped": true,
			} {
				if offset, ok, err := process.HeaderOffset(t.Context(), messageType); offset != 0 || ok != expected || err != nil {
					t.Errorf("%s: %d, %v, %v", messageType, offset, ok, err)
				}
			}
		})
	}
}
