package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Whoever names a dataset's folder, a file in it, or the directory that it alone is in, means the dataset.
func TestDatasetsAreFound(t *testing.T) {
	above := t.TempDir()
	dataset := filepath.Join(above, "rec")
	if err := os.Rename(relayDataset(t), dataset); err != nil {
		t.Fatal(err)
	}
	for _, question := range [][]string{{"info"}, {"latency", "callback"}, {"graph"}, {"sql"}, {"paths"}} {
		ask := func(path string) (int, string) {
			code, out, problems := runCommand(append(question[:len(question):len(question)], path)...)
			return code, out + problems
		}
		_, want := ask(dataset)
		for _, path := range []string{above, filepath.Join(dataset, trace.TablePublish), filepath.Join(dataset, trace.SessionFile)} {
			if code, got := ask(path); code != exitSuccess || got != want {
				t.Errorf("%v of %s: exit code %d\n%s\nwant\n%s", question, path, code, got, want)
			}
		}
		if code, got := ask(filepath.Join(above, "rce")); code != exitDataset || !strings.Contains(got, "datasets beside it: "+dataset) {
			t.Errorf("%v: exit code %d: %s", question, code, got)
		}
	}
}

// One dataset, named twice, would count twice: `rec/*` names all of its folders.
func TestRepeatedDatasets(t *testing.T) {
	dataset := relayDataset(t)
	for _, question := range [][]string{{"latency", "callback"}, {"graph"}, {"paths"}} {
		for _, other := range []string{dataset + "/", filepath.Join(dataset, trace.TablePublish)} {
			code, _, problems := runCommand(append(question[:len(question):len(question)], dataset, other)...)
			if code != exitUsage || !strings.Contains(problems, dataset+" and "+other+" are one dataset: name it once") {
				t.Errorf("%v of %s: exit code %d: %s", question, other, code, problems)
			}
		}
	}
	if code, _, problems := runCommand("diff", dataset, dataset); code == exitUsage {
		t.Errorf("diff of a dataset with itself: exit code %d: %s", code, problems)
	}
}
