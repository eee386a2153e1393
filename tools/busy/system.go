package busy

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Workload is what a program does.
type Workload string

// Workloads: callbacks of timers that do nothing, or publish, those of a subscription that publish, and none.
const (
	Callback            Workload = "callback"
	CallbackWithPublish Workload = "publish"
	Subscription        Workload = "subscription"
	Idle                Workload = "idle"
)

// System is a ROS 2 with a program to measure on it.
type System struct {
	Name, Distro, Prefix, Libraries, Program, RMW string
	// Environment is what its programs have besides.
	Environment []string
}

// systems are the stand-ins and the ROS 2 installations under /opt/ros: copies with stripped libraries where there are
// some, since that is what users have.
func systems() []System {
	var all []System
	for _, distro := range []string{"humble", "jazzy"} {
		prefix := filepath.Join("build/testdata", distro+"-stripped")
		all = append(all, System{
			Name: "stand-in " + distro, Distro: distro, Prefix: prefix, Libraries: prefix, Program: filepath.Join(prefix, "busy"),
			RMW: "rmw_cyclonedds_cpp",
		})
	}
	for _, distro := range []string{"humble", "jazzy"} {
		prefix := "/opt/ros/" + distro
		if _, err := os.Stat(prefix + "-stripped/lib"); err == nil {
			prefix += "-stripped"
		}
		rmw := os.Getenv("RMW_IMPLEMENTATION")
		if rmw == "" {
			rmw = "rmw_fastrtps_cpp"
		}
		all = append(all, System{
			Name: "ROS 2 " + distro, Distro: distro, Prefix: prefix, Libraries: filepath.Join(prefix, "lib"),
			Program: filepath.Join("build/on-ros", distro, "busy"), RMW: rmw,
		})
	}
	return all
}

// Chosen are the systems whose names match a regular expression. Those without a program are left out, and said to be.
func Chosen(expression string, tell io.Writer) ([]System, error) {
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	var chosen []System
	for _, s := range systems() {
		if !pattern.MatchString(s.Name) {
			continue
		}
		if missing := s.missing(); missing != "" {
			fmt.Fprintf(tell, "%s is not measured: there is no %s\n", s.Name, missing)
			continue
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}

// missing names what cannot be measured without, "" if all is there.
func (s System) missing() string {
	for _, path := range []string{s.Libraries, s.Program} {
		if _, err := os.Stat(path); err != nil {
			return path
		}
	}
	return ""
}

// HasLTTng reports whether the tracepoints of the system are LTTng's, too.
func (s System) HasLTTng() bool {
	file, err := elf.Open(filepath.Join(s.Libraries, "libtracetools.so"))
	if err != nil {
		return false
	}
	defer file.Close()
	needed, err := file.ImportedLibraries()
	return err == nil && slices.ContainsFunc(needed, func(name string) bool { return strings.HasPrefix(name, "liblttng-ust.") })
}

// Program is a running one.
type Program struct {
	Meter *Meter
	// Scratch is a directory for what is recorded of it. It goes with the program.
	Scratch string

	command *exec.Cmd
	said    bytes.Buffer // what it says of errors; to be read when it has ended
}

const (
	startPatience = time.Minute
	stopPatience  = 20 * time.Second
	pollInterval  = 20 * time.Millisecond
)

// Command is a program with a meter in that file, before it is started. Those in different domains do not see each
// other.
func (s System) Command(load Workload, meter string, domain int) *exec.Cmd {
	command := exec.Command(s.Program, meter, string(load))
	command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+s.Libraries, "AMENT_PREFIX_PATH="+s.Prefix, "RMW_IMPLEMENTATION="+s.RMW,
		fmt.Sprint("ROS_DOMAIN_ID=", domain), "ROS_LOCALHOST_ONLY=1", "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST")
	command.Env = append(command.Env, s.Environment...)
	return command
}

// Start starts a program and returns when it has executed callbacks for a while, or waits for the first one.
func (s System) Start(ctx context.Context, load Workload, domain int) (*Program, error) {
	scratch, err := os.MkdirTemp("", "busy")
	if err != nil {
		return nil, err
	}
	p := &Program{Scratch: scratch}
	path := filepath.Join(scratch, "meter")
	if p.Meter, err = OpenMeter(path); err != nil {
		p.Stop()
		return nil, err
	}
	p.command = s.Command(load, path, domain)
	p.command.Stderr = &p.said
	if err := p.command.Start(); err != nil {
		p.Stop()
		return nil, err
	}
	least := uint64(LeastCallbacks)
	if load == Idle {
		least = 1
	}
	for deadline := time.Now().Add(startPatience); p.Meter.Read().Callbacks < least; time.Sleep(pollInterval) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			p.Stop()
			return nil, fmt.Errorf("%s: %w: %s", s.Program, ErrTooFew, p.said.String())
		}
	}
	return p, nil
}

// PID is the program's.
func (p *Program) PID() int32 { return int32(p.command.Process.Pid) }

// Signal sends it a signal.
func (p *Program) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Stop ends the program and removes what was recorded.
func (p *Program) Stop() {
	if p.command != nil && p.command.Process != nil {
		_ = p.command.Process.Signal(syscall.SIGCONT)
		_ = p.command.Process.Signal(syscall.SIGINT)
		overdue := time.AfterFunc(stopPatience, func() { _ = p.command.Process.Kill() })
		_ = p.command.Wait()
		overdue.Stop()
	}
	if p.Meter != nil {
		_ = p.Meter.Close()
	}
	_ = os.RemoveAll(p.Scratch)
}
