package main

import (
	"context"
	"errors"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/export/ctf"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/fleet"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/settings"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
	"github.com/caret-bpf/caret-bpf/wholefile"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Exit codes. They are part of the program's interface.
const (
	exitSuccess         = 0
	exitFailure         = 1
	exitUsage           = 2
	exitNoTarget        = 3
	exitPermission      = 4
	exitKernel          = 5
	exitOutput          = 6
	exitDataset         = 7
	exitDiffers         = 8
	exitCommandNotFound = 127
	exitInterrupted     = 130
)

// exitCodes is their documentation.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitSuccess, "success"},
	{exitFailure, "any other error"},
	{exitUsage, "wrong usage"},
	{exitNoTarget, "no such process, or no ROS 2 process, or it cannot be recorded; no recording answers (ctl); nothing in a dataset fits a question"},
	{exitPermission, "privileges are missing; the message names them"},
	{exitKernel, "the kernel lacks something, or this is not the host's PID namespace; `caret-bpf check` says what"},
	{exitOutput, "the output directory exists, or the output cannot be written, or the disk is full, fails, or has less left than --min-free; the lake cannot be reached, or has the recording in another way (publish, forward)"},
	{exitDataset, "not a dataset or a lake, or one of a newer version; a recording (publish, forward) or a lake (diff) is damaged"},
	{exitDiffers, "the recordings differ (diff); not all expectations are met (verify); files of a lake differ (publish --verify)"},
	{exitCommandNotFound, "the command to record cannot be run"},
	{exitInterrupted, "interrupted; a recording: before it began, or a second time"},
}

// errUsage is returned for a wrong command line.
var errUsage = errors.New("wrong usage")

func exitCode(err error) int {
	if background := exitError(0); errors.As(err, &background) {
		return int(background)
	}
	for _, class := range []struct {
		code   int
		causes []error
	}{
		{exitSuccess, []error{nil, errHelp}},
		{exitUsage, []error{
			errUsage, session.ErrConfiguration, settings.ErrFile, expect.ErrFile, target.ErrInvalidPID, system.ErrNoSuchName,
			lake.ErrPartition, lake.ErrNoBucket, analyze.ErrUnknownHost, fleet.ErrGroup,
		}},
		{exitPermission, []error{target.ErrPermission, loader.ErrPermission}},
		{exitKernel, []error{loader.ErrUnsupportedKernel, loader.ErrPIDNamespace, loader.ErrNoTracefs}},
		{exitNoTarget, []error{
			target.ErrNoProcess, target.ErrNotROS2, target.ErrForeignNamespace,
			probes.ErrRequiredMissing, loader.ErrProcessGone, loader.ErrRequiredSite, analyze.ErrNothingSelected, analyze.ErrNoScheduling, analyze.ErrNoTimesOffCPU, view.ErrNoEvents, control.ErrNobody, fleet.ErrNoRecordings,
		}},
		{exitCommandNotFound, []error{launch.ErrCommand}},
		{exitOutput, []error{errNotPrinted, ctf.ErrExists, writer.ErrExists, writer.ErrDiskFull, writer.ErrUnwritable, session.ErrFreeSpace, wholefile.ErrUnwritable, control.ErrSocket, lake.ErrUnwritable, lake.ErrUnreachable, lake.ErrPublished}},
		{exitDiffers, []error{errDiffers, errUnmet, lake.ErrDiffers}},
		{exitDataset, []error{trace.ErrNotDataset, trace.ErrNewerFormat, lake.ErrNotLake, lake.ErrDamaged, fleet.ErrDamaged}},
		{exitInterrupted, []error{context.Canceled, session.ErrNotBegun}},
	} {
		for _, cause := range class.causes {
			if errors.Is(err, cause) {
				return class.code
			}
		}
	}
	return exitFailure
}
