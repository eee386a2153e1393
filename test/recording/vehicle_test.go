package recording

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// vehicleSize is how many nodes a vehicle has, and how often it is launched, cold and warm.
func vehicleSize() (nodes, rounds int) {
	nodes, _ = strconv.Atoi(os.Getenv("CARET_BPF_VEHICLE_NODES"))
	rounds, _ = strconv.Atoi(os.Getenv("CARET_BPF_VEHICLE_ROUNDS"))
	return cmp.Or(nodes, 6), cmp.Or(rounds, 1)
}

// launchVehicle is a script that launches nodes at once. Each loads a component a moment later, from a folder that no
// index names. folder is in the command lines of all.
func launchVehicle(t *testing.T, l layout, folder string, nodes int) launchedTogether {
	t.Helper()
	directory := standin.Directory(t, l.distro, false)
	component := filepath.Join(folder, "libvehicle_component.so")
	content, err := os.ReadFile(filepath.Join(directory, "libstandin_component.so"))
	if err != nil {
		t.Fatal(err)
	}
	// The same file each time: another one would be unknown.
	if _, err := os.Stat(component); err != nil {
		if err := os.WriteFile(component, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	together := launchedTogether{}
	lines := []string{fmt.Sprintf("export LD_LIBRARY_PATH=%s RMW_IMPLEMENTATION=%s", directory, l.rmw)}
	domain := 0
	for i := range nodes {
		if i%8 == 0 { // there are not as many as nodes
			domain = standin.Domain(t)
		}
		command, path := standin.Command(t, standin.Config{Distro: l.distro, RMW: l.rmw, Domain: domain, Arguments: []string{
			"--prefix", fmt.Sprint("/n", i), "--rate", "10", "--component", component, "--load-after", "0.2",
		}})
		lines, together.truths = append(lines, strings.Join(command.Args, " ")+" &"), append(together.truths, path)
	}
	together.script = strings.Join(append(lines, "wait"), "\n")
	return together
}

// sameMoment is to record all processes from when they are launched, not from before.
const sameMoment = "all at the same moment"

// recordVehicle records the vehicle in one way, from before it is launched or, at the same moment, while it is.
func (together launchedTogether) recordVehicle(t *testing.T, way, folder string, options func(*session.Options)) (*recording, *oracle.Dataset) {
	t.Helper()
	configuration := session.Configuration{}
	switch way {
	case "command":
		configuration.Command = []string{"sh", "-c", together.script}
	case "name":
		configuration.Name = folder
	default:
		configuration.All = true
	}
	launched := exec.Command("sh", "-c", together.script)
	launch := func() {
		if err := launched.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = launched.Wait() })
	}
	if way == sameMoment {
		launch()
	}
	r := record(t, configuration, options)
	if way == "name" || way == "all" {
		launch()
	}
	for _, path := range together.truths {
		waitForLines(t, path, "timer", 2) // with that of the component
	}
	r.waitForMoreRows(trace.TableCallback, uint64(len(together.truths))*5)
	for _, path := range together.truths {
		terminate(t, path)
	}
	if way == "command" {
		return r, r.wait()
	}
	_ = launched.Wait()
	return r, r.stop()
}

// knowledge is what a recording knows of a vehicle's files before it is launched.
type knowledge struct {
	name string
	// installed says that ROS 2 lies where it is installed, cached that an earlier recording has seen all files.
	installed, cached bool
}

// many are the rounds that a share of recordings can be told of: of launches of which only ROS 2 itself is known, 19 of
// 20 lack nothing if no other program of the machine runs ROS 2.
const many = 20

// TestAVehicleIsLaunched launches many nodes at once. Where only ROS 2 is installed and where nothing is known, what is
// missing was done while rows say that files were not probed. Where all files are known, nothing is missing.
func TestAVehicleIsLaunched(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	nodes, rounds := vehicleSize()
	for _, l := range []layout{{standin.Humble, standin.FastDDS}, {standin.Jazzy, standin.CycloneDDS}} {
		installed := t.TempDir()
		if err := os.Mkdir(filepath.Join(installed, l.distro), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(standin.Directory(t, l.distro, false), filepath.Join(installed, l.distro, "lib")); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"command", "name", "all", sameMoment} {
			t.Run(l.distro+" "+way, func(t *testing.T) {
				whole := map[string]int{}
				for round := range rounds {
					folder, cache := t.TempDir(), t.TempDir()
					for _, known := range []knowledge{{"nothing", false, false}, {"ROS 2", true, false}, {"all files", true, true}} {
						// Each is a test of its own, so that its DDS domains are free for the next one.
						t.Run(fmt.Sprintf("%d %s", round, known.name), func(t *testing.T) {
							together := launchVehicle(t, l, folder, nodes)
							r, data := together.recordVehicle(t, way, folder, func(o *session.Options) {
								o.Installed, o.Cache = t.TempDir(), t.TempDir()
								if known.installed { // the cache is empty the first time
									o.Installed, o.Cache = installed, cache
								}
							})
							missed := requireVehicle(t, r, data, together.truths, way == sameMoment)
							switch {
							case missed == 0:
								whole[known.name]++
							case known.cached && way != sameMoment:
								t.Errorf("of %d processes files were not probed for a time, though they were known", missed)
							}
							t.Logf("known before: %s; of %d processes files were not probed for a time", known.name, missed)
						})
					}
				}
				t.Logf("of %d recordings lack nothing, by what was known: %v", rounds, whole)
				if lacking := rounds - whole["ROS 2"]; rounds >= many && lacking*many > rounds {
					t.Errorf("%d recordings lack something though ROS 2 was known", lacking)
				}
			})
		}
	}
}

// requireVehicle is requireSaid for several processes. It returns of how many files were not probed.
func requireVehicle(t *testing.T, r *recording, data *oracle.Dataset, truths []string, early bool) (missed int) {
	t.Helper()
	for _, path := range truths {
		if r.requireSaid(t, data, readTruth(t, path), early) {
			missed++
		}
	}
	return missed
}
