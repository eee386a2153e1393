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
