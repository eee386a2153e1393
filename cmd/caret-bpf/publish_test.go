package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// chainsDataset is a recording of a system with paths, of so many callbacks.
func chainsDataset(t *testing.T, callbacks int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	tracetest.AddSystem(t, dir, callbacks)
	session := trace.NewSession()
	session.Host.Name, session.Attributes, session.Ending = "bus", map[string]string{"vehicle": "v12"}, trace.EndingDuration
	tracetest.AddSession(t, dir, session)
	return dir
}

// filesBelow are the files of a folder, by their paths in it, with what they hold.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

type publishedOutcome struct {
	Recording string `json:"recording_id"`
	Outcome   string `json:"outcome"`
	Rows      int64  `json:"rows"`
}

func TestPublish(t *testing.T) {
	rec, other, to := chainsDataset(t, 2000), relayDataset(t), filepath.Join(t.TempDir(), "lake")
	publish := func(want int, arguments ...string) (outcomes []publishedOutcome, problems string) {
		t.Helper()
		code, out, problems := runCommand(append([]string{"publish", "--to", to, "--json"}, arguments...)...)
		if code != want {
			t.Fatalf("%v: exit code %d: %s", arguments, code, problems)
		}
		if out != "" {
			if err := json.Unmarshal([]byte(out), &outcomes); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return outcomes, problems
	}
	requireOutcomes := func(outcomes []publishedOutcome, want ...string) {
		t.Helper()
		var got []string
		for _, o := range outcomes {
			got = append(got, o.Outcome)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
	}
	first, _ := publish(exitSuccess, rec, other)
	requireOutcomes(first, "published", "published")
	before := filesBelow(t, to)
	again, _ := publish(exitSuccess, rec, other)
	requireOutcomes(again, "already_there", "already_there")
	if !reflect.DeepEqual(filesBelow(t, to), before) || again[0].Rows != first[0].Rows || first[0].Rows == 0 {
		t.Errorf("publishing again: %+v, at first %+v", again, first)
	}
	if _, problems := publish(exitSuccess, "--verify"); !strings.Contains(problems, "of 2 recordings") {
		t.Errorf("verify says %s", problems)
	}
	outcomes, problems := publish(exitOutput, rec, "--path", "[/nowhere]-[/nothing]-[/nobody]")
	requireOutcomes(outcomes, "failed")
	if !strings.Contains(problems, "--replace") {
		t.Errorf("it says %s", problems)
	}
	outcomes, problems = publish(exitSuccess, rec, "--replace", "--path", "[/nowhere]-[/nothing]-[/nobody]")
	requireOutcomes(outcomes, "published")
	if !strings.Contains(problems, "has no path [/nowhere]") {
		t.Errorf("it says %s", problems)
	}
	for _, usage := range [][]string{{}, {rec, rec}, {rec, "--partition", "host"}, {rec, "--patience", "0s"}, {rec, "--partition", "../x"}} {
		publish(exitUsage, usage...)
	}
	if code, _, _ := runCommand("publish", rec); code != exitUsage {
		t.Errorf("without --to: exit code %d", code)
	}
	if code, _, problems := runCommand("publish", rec, "--to", "s3://", "--staging", t.TempDir()); code != exitUsage || !strings.Contains(problems, "s3://BUCKET/PREFIX") {
		t.Errorf("without a bucket: exit code %d: %s", code, problems)
	}
	publish(exitDataset, filepath.Join(to, "nothing"))
	for name := range filesBelow(t, to) {
		if strings.HasPrefix(name, lake.TableMessageFact) {
			if err := os.WriteFile(filepath.Join(to, name), []byte("other"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, problems := publish(exitDiffers, "--verify"); !strings.Contains(problems, name) {
				t.Errorf("verify says %s", problems)
			}
			break
		}
	}
}

// A damaged recording does not keep the others from being published, and is published if that is asked for.
func TestPublishDamaged(t *testing.T) {
	rec, other, to := chainsDataset(t, 500), relayDataset(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(rec, trace.TablePublish, "00000099.parquet"), []byte("no Parquet"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, problems := runCommand("publish", rec, other, "--to", to, "--csv")
	if code != exitDataset || strings.Count(out, "failed") != 1 || strings.Count(out, "published") != 1 || !strings.Contains(problems, "00000099.parquet") || !strings.Contains(problems, "--damaged") {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
	if code, out, problems := runCommand("publish", rec, "--to", to, "--damaged"); code != exitSuccess || !strings.Contains(out, "published") {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
}

// countIn counts the rows of a table of a lake.
func countIn(t *testing.T, to, table string) (rows int64) {
	t.Helper()
	for name, text := range filesBelow(t, to) {
		if strings.HasPrefix(name, table+"/") {
			file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			rows += file.NumRows()
		}
	}
	return rows
}

// The paths of --path and of an architecture file's names are those of `latency path`.
func TestPublishPaths(t *testing.T) {
	rec := chainsDataset(t, 4000)
	const path = "[/chain_0/sensor]-[/chain_0/points]-[/chain_0/filter]-[/chain_0/objects]-[/chain_0/tracker]"
	code, out, problems := runCommand("latency", "path", rec, "--path", path, "--series", "--lost", "--json")
	if code != exitSuccess {
		t.Fatal(problems)
	}
	var want []struct {
		Hop int `json:"hop"`
	}
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	ways, hops := int64(0), int64(0)
	for _, row := range want {
		if row.Hop == 0 {
			ways++
		} else {
			hops++
		}
	}
	if ways == 0 {
		t.Fatal("no way")
	}
	code, architecture, problems := runCommand("graph", rec, "--yaml")
	if code != exitSuccess {
		t.Fatal(problems)
	}
	named := strings.Replace(architecture, "named_paths: []", `named_paths:
- path_name: points to tracker
  node_chain:
  - {node_name: /chain_0/sensor, publish_topic_name: /chain_0/points, subscribe_topic_name: UNDEFINED}
  - {node_name: /chain_0/filter, publish_topic_name: /chain_0/objects, subscribe_topic_name: /chain_0/points}
  - {node_name: /chain_0/tracker, publish_topic_name: UNDEFINED, subscribe_topic_name: /chain_0/objects}`, 1)
	file := filepath.Join(t.TempDir(), "architecture.yaml")
	if err := os.WriteFile(file, []byte(named), 0o644); err != nil || named == architecture {
		t.Fatal("no named paths", err)
	}
	for _, flags := range [][]string{{"--path", path}, {"--architecture", file}, {"--architecture", file, "--path", "points to tracker"}} {
		to := t.TempDir()
		if code, _, problems := runCommand(append([]string{"publish", rec, "--to", to}, flags...)...); code != exitSuccess {
			t.Fatal(problems)
		}
		if w, h := countIn(t, to, lake.TablePathFact), countIn(t, to, lake.TableHopFact); w != ways || h != hops {
			t.Errorf("%v: %d ways and %d hops, want %d and %d", flags, w, h, ways, hops)
		}
	}
}

// soakVariable makes tests of faults take their long forms.
const soakVariable = "CARET_BPF_SOAK"

// TestKilledPublisher kills publishers (kill -9) at random moments, several in a row. Nobody sees half a recording, and
// the next publisher completes the lake, so that it is as if nothing had been.
func TestKilledPublisher(t *testing.T) {
	kills := 5
	if os.Getenv(soakVariable) != "" {
		kills = 50
	}
	rec, want := chainsDataset(t, 30_000), t.TempDir()
	begun := time.Now()
	if code, problems := runProgram(t, programCommand("publish", rec, "--to", want)); code != exitSuccess {
		t.Fatal(problems)
	}
	takes := time.Since(begun)
	whole := filesBelow(t, want)
	to, in := t.TempDir(), 0
	for range kills {
		c := programCommand("publish", rec, "--to", to, "--replace")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(takes))
		_ = c.Process.Signal(syscall.SIGKILL)
		_ = c.Wait()
		visible := countIn(t, to, lake.TableRecording)
		if visible > 0 {
			in++
			if code, problems := runProgram(t, programCommand("publish", rec, "--verify", "--to", to)); code != exitSuccess {
				t.Fatalf("what is visible is not whole: %s", problems)
			}
		}
		if rand.N(2) == 0 { // else the next one is killed, too
			if code, problems := runProgram(t, programCommand("publish", rec, "--to", to)); code != exitSuccess {
				t.Fatal(problems)
			}
			requireSameFiles(t, to, whole)
			if rand.N(2) == 0 {
				to = t.TempDir()
			}
		}
	}
	if code, problems := runProgram(t, programCommand("publish", rec, "--to", to)); code != exitSuccess {
		t.Fatal(problems)
	}
	requireSameFiles(t, to, whole)
	t.Logf("killed %d publishers, of which %d found or left the recording visible", kills, in)
}

func requireSameFiles(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	got := filesBelow(t, folder)
	for name := range got {
		if _, wanted := want[name]; !wanted {
			t.Errorf("%s is left", name)
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}
