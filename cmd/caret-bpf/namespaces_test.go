package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// asUser becomes a command with the rights of a user, whose the ground truth is then, too.
const asUser = `user=$1; shift
for word; do
	[ "$last" != --ground-truth ] || { : >"$word"; chown "$user" "$word"; }
	last=$word
done
exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"`

// onOverlay runs a program from an overlay, as programs in the image of a container.
const onOverlay = `place=$1 program=$2; shift 2
mount -t tmpfs tmpfs "$place"
mkdir "$place/upper" "$place/work" "$place/merged"
mount -t overlay overlay -o lowerdir="${program%/*}",upperdir="$place/upper",workdir="$place/work" "$place/merged"
AMENT_PREFIX_PATH=$place/merged exec "$place/merged/${program##*/}" "$@"`

// inUserNamespace is a command that becomes another one; asContainer starts it, as container engines do.
var (
	inUserNamespace = []string{"unshare", "--user", "--map-root-user"}
	asContainer     = append(slices.Clone(inUserNamespace), "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
)

// contained is a stand-in in namespaces of its own.
type contained struct {
	*standin.Process
	t   *testing.T
	pid int // in the namespace of this process
}

// startContained starts a stand-in as a user, and by a command that brings it into its namespaces. Its files are
// copies, which a user can read. The test is skipped where there are no such namespaces.
func startContained(t *testing.T, user int, by []string, arguments ...string) *contained {
	t.Helper()
	for _, tool := range []string{"unshare", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "true").CombinedOutput(); err != nil {
		t.Skipf("no user namespaces: %v, %s", err, out)
	}
	directory := filepath.Join(folderOf(t, 0, 0o755), "standin")
	if err := os.CopyFS(directory, os.DirFS(standin.Directory(t, standin.Jazzy, false))); err != nil {
		t.Fatal(err)
	}
	node := standin.StartReady(t, standin.Config{
		Distro: standin.Jazzy, RMW: standin.CycloneDDS, Directory: directory, Arguments: arguments,
		By: slices.Concat([]string{"sh", "-ec", asUser, "sh", strconv.Itoa(user)}, by),
	})
	pid := node.PID()
	if slices.Contains(by, "--fork") {
		children := childrenOf(t, pid)
		if len(children) != 1 {
			t.Fatalf("the container has the processes %v", children)
		}
		pid = children[0]
	}
	return &contained{node, t, pid}
}

// stop ends the stand-in and returns what happened. It has written the numbers of its own namespace, which are made
// those of this one.
func (c *contained) stop() *oracle.Truth {
	c.t.Helper()
	here := c.threads()
	if err := syscall.Kill(c.pid, syscall.SIGINT); err != nil {
		c.t.Fatal(err)
	}
	c.Wait()
	text, err := os.ReadFile(c.GroundTruthFile())
	if err != nil {
		c.t.Fatal(err)
	}
	translated := regexp.MustCompile(`\t(pid|tid)=\d+`).ReplaceAllStringFunc(string(text), func(field string) string {
		name, number, _ := strings.Cut(field, "=")
		return name + "=" + here[number]
	})
	truth, err := groundtruth.Parse(strings.NewReader(translated))
	if err != nil {
		c.t.Fatal(err)
	}
	return oracle.NewTruth(c.t, truth)
}

// threads are the numbers of the threads here, by those that they have in their own namespace.
func (c *contained) threads() map[string]string {
	c.t.Helper()
	here := map[string]string{}
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(status), "\nNSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		numbers := strings.Fields(line)
		here[numbers[len(numbers)-1]] = numbers[0]
	}
	return here
}

// Everything is recorded of programs in other namespaces than the recorder's, as those of containers that root or users
// run, under the numbers that their processes and threads have on the host.
func TestTargetsInOtherNamespaces(t *testing.T) {
	requireRecording(t)
	for name, test := range map[string]struct {
		user int
		by   []string
	}{
		"user namespace of root's":   {0, inUserNamespace},
		"user namespace of a user's": {nobody, inUserNamespace},
		"root's container":           {0, []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}},
		"rootless container":         {nobody, asContainer},
	} {
		t.Run(name, func(t *testing.T) {
			node := startContained(t, test.user, test.by, strings.Fields("--nodes 2 --topics 2 --rate 100 --threads 2 --service-rate 20")...)
			r := newRecordedBy(t, 0, "-p", strconv.Itoa(node.pid))
			before := lookAround(t)
			r.recordExactly(node.stop, oracle.Circumstances{Found: true})
			requireNothingLeft(t, before, r.command.Process.Pid)
		})
	}
}

// What lies on an overlay of a rootless container is not probed, which is told: it is an error where nothing else is to
// be recorded, and a loss where something may be.
func TestRootlessOverlay(t *testing.T) {
	requireRecording(t)
	name := fmt.Sprintf("/rootless_%d", now(t))
	node := startContained(t, nobody, slices.Concat(asContainer, []string{"sh", "-ec", onOverlay, "sh", folderOf(t, nobody, 0o755)}), "--rate", "100", "--prefix", name)
	folder := folderOf(t, 0, 0o755)
	const why, remedy = "its file system was mounted in another user namespace", "run the container as root, or mount the libraries from the host"

	c := programCommand("record", "-p", strconv.Itoa(node.pid), "-o", filepath.Join(folder, "recording"))
	before := lookAround(t)
	code, problems := runProgram(t, c)
	if code != exitNoTarget || !strings.Contains(problems, why) || !strings.Contains(problems, remedy) {
		t.Errorf("exit code %d: %s", code, problems)
	}
	if found := list(t, folder); len(found) > 0 {
		t.Errorf("left are %v", found)
	}
	requireNothingLeft(t, before, c.Process.Pid)

	r := newRecordedBy(t, 0, "--name", name, "--stop-when-gone")
	r.start()
	r.waitFor(why)
	r.waitFor("recording to")
	node.stop()
	if code := r.exitCode(); code != exitSuccess {
		t.Errorf("exit code %d", code)
	}
	data := oracle.ReadDataset(t, r.output)
	if !slices.ContainsFunc(data.Losses, func(loss trace.Loss) bool { return loss.Reason == trace.LossUnarmed && int(loss.PID) == node.pid }) {
		t.Errorf("the recording does not say that the process was not probed: %v", data.Losses)
	}
}
