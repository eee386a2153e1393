package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// workload is what the callback of a busy program does.
type workload string

const (
	callbackOnly        workload = "callback"
	callbackWithPublish workload = "publish"
)

var workloads = []workload{callbackOnly, callbackWithPublish}

// system is a ROS 2 with a program to measure on it.
type system struct {
	name, prefix, libraries, program, rmw string
}

// systems are the stand-ins and the ROS 2 installations under /opt/ros: copies with stripped libraries where there are
// some, since that is what users have.
func systems() []system {
	var all []system
	for _, distro := range []string{"humble", "jazzy"} {
		prefix := filepath.Join("build/testdata", distro+"-stripped")
		all = append(all, system{"stand-in " + distro, prefix, prefix, filepath.Join(prefix, "busy"), "rmw_cyclonedds_cpp"})
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
		all = append(all, system{"ROS 2 " + distro, prefix, filepath.Join(prefix, "lib"), filepath.Join("build/busy", distro), rmw})
	}
	return all
}

// missing names what cannot be measured without, "" if all is there.
func (s system) missing() string {
	for _, path := range []string{s.libraries, s.program} {
		if _, err := os.Stat(path); err != nil {
			return path
		}
	}
	return ""
}

// hasLTTng reports whether the tracepoints of the system are LTTng's, too.
func (s system) hasLTTng() bool {
	file, err := elf.Open(filepath.Join(s.libraries, "libtracetools.so"))
	if err != nil {
		return false
	}
	defer file.Close()
	needed, err := file.ImportedLibraries()
	return err == nil && slices.ContainsFunc(needed, func(name string) bool { return strings.HasPrefix(name, "liblttng-ust.") })
}

// program is a running busy program.
type program struct {
	command *exec.Cmd
	// said is what it says of errors; to be read when it has ended.
	said  bytes.Buffer
	meter *meter
	// scratch is a directory for what is recorded of it.
	scratch string
}

const (
	startPatience = time.Minute
	stopPatience  = 20 * time.Second
	pollInterval  = 20 * time.Millisecond
)

// start starts the program and returns when it has executed callbacks for a while.
func (s system) start(ctx context.Context, load workload) (*program, error) {
	scratch, err := os.MkdirTemp("", "addedtime")
	if err != nil {
		return nil, err
	}
	p := &program{scratch: scratch}
	path := filepath.Join(scratch, "meter")
	if p.meter, err = openMeter(path); err != nil {
		p.stop()
		return nil, err
	}
	arguments := []string{path}
	if load == callbackWithPublish {
		arguments = append(arguments, "publish")
	}
	p.command = exec.Command(s.program, arguments...)
	p.command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+s.libraries, "AMENT_PREFIX_PATH="+s.prefix, "RMW_IMPLEMENTATION="+s.rmw,
		"ROS_DOMAIN_ID=101", "ROS_LOCALHOST_ONLY=1", "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST")
	p.command.Stderr = &p.said
	if err := p.command.Start(); err != nil {
		p.stop()
		return nil, err
	}
	for deadline := time.Now().Add(startPatience); p.meter.read().callbacks < leastCallbacks; time.Sleep(pollInterval) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			p.stop()
			return nil, fmt.Errorf("%s: %w: %s", s.program, errTooFew, p.said.String())
		}
	}
	time.Sleep(settling)
	return p, nil
}

func (p *program) pid() int32 { return int32(p.command.Process.Pid) }

// stop ends the program and removes what was recorded.
func (p *program) stop() {
	if p.command != nil && p.command.Process != nil {
		_ = p.command.Process.Signal(syscall.SIGINT)
		overdue := time.AfterFunc(stopPatience, func() { _ = p.command.Process.Kill() })
		_ = p.command.Wait()
		overdue.Stop()
	}
	if p.meter != nil {
		_ = p.meter.close()
	}
	_ = os.RemoveAll(p.scratch)
}
