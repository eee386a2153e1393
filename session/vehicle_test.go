package session_test

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
func (together launchedTogether) recordVehicle(t *testing.T, way, folder, cache string) (*recording, *oracle.Dataset) {
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
	r := record(t, configuration, func(o *session.Options) { o.Cache = cache })
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

// TestAVehicleIsLaunched launches many nodes at once. The first time nothing is known of their files before: what is
// missing was done while rows say that files were not probed. The second time nothing is missing.
func TestAVehicleIsLaunched(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	nodes, rounds := vehicleSize()
	for _, l := range []layout{{standin.Humble, standin.FastDDS}, {standin.Jazzy, standin.CycloneDDS}} {
		for _, way := range []string{"command", "name", "all", sameMoment} {
			t.Run(l.distro+" "+way, func(t *testing.T) {
				whole := 0
				for range rounds {
					folder, cache := t.TempDir(), t.TempDir()
					for _, warm := range []bool{false, true} {
						together := launchVehicle(t, l, folder, nodes)
						r, data := together.recordVehicle(t, way, folder, cache)
						missed := requireVehicle(t, r, data, together.truths, way == sameMoment)
						switch {
						case missed == 0 && !warm:
							whole++
						case missed > 0 && warm && way != sameMoment:
							t.Errorf("of %d processes files were not probed for a time, though they were known", missed)
						}
						t.Logf("known before: %v; of %d processes files were not probed for a time", warm, missed)
					}
				}
				t.Logf("%d of %d recordings lack nothing though no file was known", whole, rounds)
			})
		}
	}
}

// requireVehicle compares the recording with what each process did, but for the time in which its files were not
// probed. early says that it may have begun before the recording. It returns of how many processes files were not
// probed.
func requireVehicle(t *testing.T, r *recording, data *oracle.Dataset, truths []string, early bool) (missed int) {
	t.Helper()
	for _, path := range truths {
		truth := readTruth(t, path)
		span, known := r.span(data, truth.Header.PID), oracle.Circumstances{Unnamed: early}
		if from, to, found := unarmed(data, truth.Header.PID); found {
			missed++
			known = oracle.Circumstances{Unnamed: true, Unarmed: true}
			span.OpenFrom, span.OpenTo = min(max(from, span.OpenFrom), to), max(to, span.OpenTo)
		}
		oracle.RequireExact(t, data, truth, span, known)
	}
	return missed
}
