package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caret-bpf/caret-bpf/tools/busy"
	"github.com/caret-bpf/caret-bpf/tools/tracers"
)

// bpftrace lets bpftrace print every hit of the first thread, which executes the callbacks, into a file.
func bpftrace(_ context.Context, p *busy.Program, plans *plans) (end, error) {
	running, err := tracers.StartBpftrace(p.PID(), tracers.FirstThread, plans.entries, filepath.Join(p.Scratch, "bpftrace"))
	if err != nil {
		return nil, err
	}
	return running.Stop, nil
}

// lttngEvents are the tracepoints that tell the same.
const lttngEvents = "ros2:callback_start,ros2:callback_end,ros2:rclcpp_publish,ros2:rcl_publish,ros2:rmw_publish,ros2:rmw_take"

// lttng records the events of one process, with its thread, into a trace on disk.
func lttng(ctx context.Context, p *busy.Program, _ *plans) (end, error) {
	session := tracers.LTTngSession{
		Name: fmt.Sprintf("addedtime-%d", p.PID()), Output: filepath.Join(p.Scratch, "lttng"), Events: lttngEvents,
	}
	if err := session.Start(ctx, p.PID()); err != nil {
		return nil, err
	}
	return func() (uint64, error) {
		lost, err := session.Stop(ctx)
		return lost, errors.Join(err, os.RemoveAll(session.Output))
	}, nil
}
