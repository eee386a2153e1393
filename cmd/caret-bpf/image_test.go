package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// imageVariable names the archive of the container image that is to be tried.
const imageVariable = "CARET_BPF_IMAGE"

// podman has an image loaded, in a store of its own.
type podman struct {
	t     *testing.T
	store []string
	image string
}

func loadImage(t *testing.T, archive string) *podman {
	t.Helper()
	// It mounts what it makes there, and takes names of sockets no longer than a path of a test would be.
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		t.Fatal(err)
	}
	p := &podman{t: t, store: []string{"--root", filepath.Join(folder, "root"), "--runroot", filepath.Join(folder, "run")}}
	// crun, which podman takes by default, knows no machines with both versions of control groups.
	if _, err := exec.LookPath("runc"); err == nil {
		p.store = append(p.store, "--runtime=runc")
	}
	t.Cleanup(func() {
		p.output("rmi", "--all", "--force")
		_ = syscall.Unmount(filepath.Join(folder, "root", "overlay"), syscall.MNT_DETACH)
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	_, image, found := strings.Cut(p.output("load", "--input", archive), "Loaded image: ")
	if !found {
		t.Fatal("podman does not say what it has loaded")
	}
	p.image = strings.TrimSpace(image)
	return p
}

func (p *podman) command(arguments ...string) *exec.Cmd {
	return exec.Command("podman", slices.Concat(p.store, arguments)...)
}

func (p *podman) output(arguments ...string) string {
	p.t.Helper()
	c := p.command(arguments...)
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		p.t.Fatalf("podman %s: %v: %s", arguments[0], err, problems.String())
	}
	return string(out)
}

// newRecorder is a recorder in a container with some options, not started.
func (p *podman) newRecorder(t *testing.T, options []string, arguments ...string) *recordedBy {
	t.Helper()
	folder := folderOf(t, 0, 0o755)
	run := slices.Concat([]string{"run", "--rm", "--network=none", "--pid=host", "--volume=" + folder + ":/recordings"}, ownLimits(t), options)
	record := []string{p.image, "record", "-o", "/recordings/recording", "--control", "/recordings/socket"}
	return &recordedBy{
		&recorder{t: t, command: p.command(slices.Concat(run, record, arguments)...)},
		filepath.Join(folder, "recording"), control.NewClient(filepath.Join(folder, "socket")),
	}
}

// ownLimits are options for containers that have no more than this process may give: podman raises limits otherwise,
// which root may not do everywhere.
func ownLimits(t *testing.T) []string {
	t.Helper()
	const processes = 6 // RLIMIT_NPROC
	var options []string
	for name, number := range map[string]int{"nofile": syscall.RLIMIT_NOFILE, "nproc": processes} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(number, &limit); err != nil {
			t.Fatal(err)
		}
		least := min(limit.Max, 16384)
		options = append(options, fmt.Sprintf("--ulimit=%s=%d:%d", name, least, least))
	}
	return options
}

// Everything is recorded from a container of the image, in each way that docs/service.md tells: of programs that ran
// before, of root's and of another user's, and of one that begins later with the files of one that is recorded already.
func TestContainerImage(t *testing.T) {
	requireRecording(t)
	archive := os.Getenv(imageVariable)
	if archive == "" {
		t.Skip(imageVariable + " names no image: make test-package")
	}
	if loader.Probe().UprobeMulti != nil {
		t.Skip("without uprobe_multi, trace events have to be made in the host's tracefs")
	}
	p := loadImage(t, archive)
	few := []string{"--cap-drop=all"}
	for _, name := range []string{"BPF", "PERFMON", "SYS_PTRACE", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH", "SETUID", "SETGID"} {
		few = append(few, "--cap-add="+name)
	}
	for name, options := range map[string][]string{
		"privileged":       {"--privileged"},
		"with SYS_ADMIN":   append(slices.Clone(few), "--cap-add=SYS_ADMIN"),
		"without a filter": append(slices.Clone(few), "--security-opt=seccomp=unconfined", "--read-only"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, user := range []int{0, nobody} {
				node := startContained(t, user, nil, "--rate", "100")
				r := p.newRecorder(t, options, "-p", strconv.Itoa(node.pid))
				r.recordExactly(node.stop, oracle.Circumstances{Found: true})
			}

			prefix := fmt.Sprintf("/named_%d", now(t))
			start := func() *standin.Process {
				return standin.Start(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100", "--prefix", prefix}})
			}
			before := start()
			before.WaitReady()
			r := p.newRecorder(t, options, "--name", prefix, "--stop-when-gone")
			r.start()
			r.waitFor("recording to")
			span := oracle.Span{OpenFrom: now(t), OpenTo: now(t)}
			r.awaitCallbacks(recordedRows)
			later := start()
			later.WaitReady()
			before.Stop()
			status, err := r.client.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.awaitCallbacks(status.Rows[trace.TableCallback] + recordedRows)
			truth := oracle.NewTruth(t, later.Stop())
			if code := r.exitCode(); code != exitSuccess {
				t.Fatalf("exit code %d", code)
			}
			span.CloseFrom = now(t)
			span.CloseTo = span.CloseFrom
			oracle.RequireExact(t, oracle.ReadDataset(t, r.output), truth, span, oracle.Circumstances{})
		})
	}
}
