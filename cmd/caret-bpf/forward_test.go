package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// addRecording makes a finished recording of its own in a folder.
func addRecording(t *testing.T, folder, name string, callbacks int) string {
	t.Helper()
	dir := filepath.Join(folder, name)
	tracetest.AddSystem(t, dir, callbacks)
	session := trace.NewSession()
	session.Attributes, session.Ending = map[string]string{"vehicle": "v12", "name": name}, trace.EndingSnapshot
	session.Enter(trace.StateStopped, time.Unix(1_767_323_045, int64(len(name))*1000+int64(name[len(name)-1])))
	tracetest.AddSession(t, dir, session)
	return dir
}

// publishedLake is the lake that publish makes of the recordings of a folder.
func publishedLake(t *testing.T, recordings ...string) map[string]string {
	t.Helper()
	to := t.TempDir()
	if code, _, problems := runCommand(append([]string{"publish", "--to", to}, recordings...)...); code != exitSuccess {
		t.Fatal(problems)
	}
	return filesBelow(t, to)
}

// TestForward: what is forwarded is what publish publishes, once, and nothing is sent again.
func TestForward(t *testing.T) {
	folder, to := t.TempDir(), filepath.Join(t.TempDir(), "lake")
	recordings := []string{addRecording(t, folder, "rec-1", 500), addRecording(t, folder, "ring/incident-2", 500)}
	want := publishedLake(t, recordings...)
	code, out, problems := runCommand("forward", folder, "--to", to, "--once", "--json")
	if code != exitSuccess || !strings.Contains(problems, "rec-1 has arrived") {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	requireSameFiles(t, to, want)
	var last forward.Status
	for line := range strings.Lines(out) {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	if last.Arrived != 2 || last.ArrivedNow != 2 || last.Waiting != 0 || last.ArrivedBytes == 0 || last.To != to {
		t.Errorf("status %+v", last)
	}
	code, _, problems = runCommand("forward", folder, "--to", to, "--once")
	if code != exitSuccess || strings.Contains(problems, "rec-1") || !strings.Contains(problems, "2 arrived") {
		t.Errorf("again, exit code %d: %s", code, problems)
	}
	// In another lake, nothing has arrived.
	other := filepath.Join(t.TempDir(), "lake")
	if code, _, problems := runCommand("forward", folder, "--to", other, "--once", "--state", t.TempDir(), "--delete-after", "0s"); code != exitSuccess {
		t.Errorf("exit code %d: %s", code, problems)
	}
	requireSameFiles(t, other, want)
	for _, recording := range recordings {
		if _, err := os.Stat(recording); err == nil {
			t.Errorf("%s was not deleted", recording)
		}
	}
}

// TestForwardDamaged: a damaged recording is told, with publish's exit code, and keeps nothing from arriving.
func TestForwardDamaged(t *testing.T) {
	folder, to := t.TempDir(), t.TempDir()
	whole := addRecording(t, folder, "rec-2", 500)
	damaged := addRecording(t, folder, "rec-1", 500)
	if err := os.WriteFile(filepath.Join(damaged, trace.TablePublish, "00000099.parquet"), []byte("no Parquet"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := publishedLake(t, whole)
	code, _, problems := runCommand("forward", folder, "--to", to, "--once", "--delete-after", "0s")
	if code != exitDataset || !strings.Contains(problems, "00000099.parquet") {
		t.Errorf("exit code %d: %s", code, problems)
	}
	requireSameFiles(t, to, want)
	if _, err := os.Stat(damaged); err != nil {
		t.Error("what has not arrived was deleted")
	}
	if code, _, problems := runCommand("forward", folder, "--to", to, "--once", "--damaged"); code != exitSuccess {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

func TestForwardUsage(t *testing.T) {
	folder := t.TempDir()
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"no folder":             {[]string{"--to", "lake"}, exitUsage, "folder"},
		"two folders":           {[]string{folder, folder, "--to", "lake"}, exitUsage, "folder"},
		"no such folder":        {[]string{filepath.Join(folder, "none"), "--to", "lake"}, exitUsage, "is no folder"},
		"no lake":               {[]string{folder}, exitUsage, "--to"},
		"no bucket":             {[]string{folder, "--to", "s3://", "--staging", folder}, exitUsage, "s3://BUCKET/PREFIX"},
		"a key":                 {[]string{folder, "--to", "lake", "--partition", "host"}, exitUsage, "host"},
		"no patience":           {[]string{folder, "--to", "lake", "--patience", "0s"}, exitUsage, "--patience"},
		"no interval":           {[]string{folder, "--to", "lake", "--interval", "0s"}, exitUsage, "--interval"},
		"no bandwidth":          {[]string{folder, "--to", "s3://fleet", "--bandwidth", "10"}, exitUsage, "--bandwidth"},
		"bandwidth of a folder": {[]string{folder, "--to", "lake", "--bandwidth", "1M"}, exitUsage, "object storage"},
		"a negative time":       {[]string{folder, "--to", "lake", "--delete-after", "-1s"}, exitUsage, "negative"},
		"notes that cannot be":  {[]string{folder, "--to", "lake", "--state", "/proc/none"}, exitOutput, "/proc/none"},
		"an empty folder":       {[]string{folder, "--to", "/proc/none", "--once"}, exitSuccess, "0 wait"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, problems := runCommand(append([]string{"forward"}, test.arguments...)...)
			if code != test.code || !strings.Contains(problems, test.says) {
				t.Errorf("exit code %d: %s", code, problems)
			}
		})
	}
	addRecording(t, folder, "rec", 100)
	if code, _, problems := runCommand("forward", folder, "--to", "/proc/none", "--once"); code != exitOutput {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// TestKilledForwarder kills forwarders (kill -9) at random moments. The next one delivers each recording once, so that
// the lake is as if nothing had been.
func TestKilledForwarder(t *testing.T) {
	kills := 5
	if os.Getenv(soakVariable) != "" {
		kills = 50
	}
	folder, to := t.TempDir(), t.TempDir()
	var recordings []string
	for i := range 4 {
		recordings = append(recordings, addRecording(t, folder, fmt.Sprintf("rec-%d", i), 3000))
	}
	begun := time.Now()
	want := publishedLake(t, recordings...)
	takes := time.Since(begun)
	for range kills {
		c := programCommand("forward", folder, "--to", to)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(takes))
		_ = c.Process.Kill()
		_ = c.Wait()
		if rand.N(4) == 0 { // what was known of it is lost
			_ = os.RemoveAll(filepath.Join(folder, notesFolder))
		}
	}
	if code, problems := runProgram(t, programCommand("forward", folder, "--to", to, "--once")); code != exitSuccess {
		t.Fatal(problems)
	}
	requireSameFiles(t, to, want)
	if rows := countIn(t, to, lake.TableRecording); rows != int64(len(recordings)) {
		t.Errorf("%d recordings are there", rows)
	}
}

// TestForwarderRuns until it is interrupted: what ends meanwhile arrives, also when the lake comes late. Who may read
// the recordings and nothing else can be the forwarder.
func TestForwarderRuns(t *testing.T) {
	requireRoot(t)
	const nobody = 65534
	base := t.TempDir()
	folder, late, state := filepath.Join(base, "recordings"), filepath.Join(base, "late"), filepath.Join(base, "state")
	for dir := base; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{folder, late, state} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(state, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	first := addRecording(t, folder, "rec-1", 500)
	c := programCommand("forward", folder, "--to", filepath.Join(late, "lake"), "--state", state, "--interval", "50ms")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	second := addRecording(t, folder, "rec-2", 500)
	time.Sleep(100 * time.Millisecond) // in which nothing can be written to the lake
	if err := os.Chown(late, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	want := publishedLake(t, first, second)
	arrived := func() bool {
		rows, _ := filepath.Glob(filepath.Join(late, "lake", lake.TableRecording, "*", "*", "*"))
		notes, _ := filepath.Glob(filepath.Join(state, "*.json"))
		return len(rows) == 2 && len(notes) == 2
	}
	for !arrived() { // the test's time limit ends this
		time.Sleep(50 * time.Millisecond)
	}
	_ = c.Process.Signal(os.Interrupt)
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	requireSameFiles(t, filepath.Join(late, "lake"), want)
}

// TestForwarderOfARecorder tells it all by lines of JSON, deletes nothing itself, and ends with it.
func TestForwarderOfARecorder(t *testing.T) {
	folder, to := t.TempDir(), t.TempDir()
	dir := addRecording(t, folder, "rec", 500)
	c := programCommand(forwardArgument, folder, "--to", to, "--delete-after", "0s", "--interval", "50ms")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var told []string
	lines := json.NewDecoder(stdout)
	for {
		var news forwardNews
		if err := lines.Decode(&news); err != nil {
			break
		}
		switch {
		case news.Delete != "":
			told = append(told, "delete "+news.Delete)
			if err := forward.Delete(folder, news.Delete, news.Stamp, nil); err != nil {
				t.Error(err)
			}
		case strings.Contains(news.Message, "arrived"):
			told = append(told, news.Message)
		case news.Status != nil && news.Status.Deleted > 0:
			_ = stdin.Close()
		}
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if len(told) != 3 || !strings.Contains(told[0], "has arrived") || !slices.Equal(told[1:], []string{"delete rec", "rec was deleted: it had arrived"}) {
		t.Errorf("told %q", told)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it is there")
	}
}
