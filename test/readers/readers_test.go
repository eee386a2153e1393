// Package readers tests that readers of other projects get from every table of a dataset what package trace gets:
// pandas, pyarrow, Polars, DuckDB, fastparquet, ClickHouse (chdb) and Spark, in the versions of requirements.txt.
package readers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryReaderReadsEveryTable(t *testing.T) {
	python := environment(t)
	dir := filepath.Join(t.TempDir(), "dataset")
	tables := write(t, dir)
	text, err := json.Marshal(tables)
	if err != nil {
		t.Fatal(err)
	}
	expected := filepath.Join(t.TempDir(), "expected.json")
	if err := os.WriteFile(expected, text, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), python, "read.py", dir, expected).CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
}

// environment returns the Python of a virtual environment that has the readers. It is made once for each
// requirements.txt and kept in the user's cache.
func environment(t *testing.T) (python string) {
	t.Helper()
	system, err := exec.LookPath("python3")
	if err != nil {
		skip(t, "no python3: readers of other projects are not tested")
	}
	if exec.CommandContext(t.Context(), system, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		skip(t, "python3 is older than 3.11, which the readers need: they are not tested")
	}
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(requirements)
	dir := filepath.Join(cache, "caret-bpf", "readers-"+hex.EncodeToString(sum[:8]))
	python = filepath.Join(dir, "bin", "python")
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return python
	}
	run(t, system, "-m", "venv", "--clear", dir)
	run(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return python
}

// skip skips the test, unless whoever runs it wants it to run.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CARET_BPF_REQUIRE_READERS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), name, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
}

// table is what is expected of a table's segments.
type table struct {
	Name     string    `json:"name"`
	Columns  []string  `json:"columns"`
	Segments []segment `json:"segments"`
}

// segment has the values of each column.
type segment struct {
	Name   string  `json:"name"`
	Values [][]any `json:"values"`
}
