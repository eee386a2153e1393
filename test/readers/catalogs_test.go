package readers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/test/answers"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A column that a later version has added breaks no reader of a lake, with or without a catalog. Catalogs in which a
// lake is registered again have what is in the lake then.
func TestANewColumnBreaksNoReader(t *testing.T) {
	python := environment(t)
	whole := lakeOfThree(t)
	for _, test := range []struct {
		name     string
		packages string // besides those of the environment
		readers  []string
	}{
		{"files", "", []string{"pandas", "pyarrow", "polars", "duckdb", "clickhouse", "spark"}},
		{"iceberg and delta", "catalogs.txt", []string{
			"iceberg", "iceberg polars", "iceberg clickhouse", "delta", "delta polars", "delta clickhouse",
		}},
		{"ducklake", "ducklake.txt", []string{"ducklake"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "lake")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), python, append([]string{"catalogs.py", dir, t.TempDir()}, test.readers...)...)
			command.Env = os.Environ()
			if test.packages != "" {
				command.Env = append(command.Env, "PYTHONPATH="+packages(t, python, test.packages), "HOME="+t.TempDir())
			}
			output, err := command.CombinedOutput()
			t.Logf("%s", output)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// lakeOfThree is a lake with a vehicle whose name is no folder's, one whose name is a number's, and a nameless one.
func lakeOfThree(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "lake")
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, d := range []*trace.Dataset{
		answers.Dataset(t, 300, trace.Attribute{Key: "vehicle", Value: "it's 50 % ä/b"}),
		answers.Dataset(t, 200, trace.Attribute{Key: "vehicle", Value: "007"}),
		answers.Dataset(t, 100),
	} {
		if _, err := l.Publish(t.Context(), d, lake.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// packages returns a folder that has the packages of a file of requirements, for an environment of which not all need
// them. It is kept in the user's cache.
func packages(t *testing.T, python, requirements string) (dir string) {
	t.Helper()
	content, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	dir = filepath.Join(cache, "caret-bpf", strings.TrimSuffix(requirements, ".txt")+"-"+hex.EncodeToString(sum[:8]))
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", dir, "-r", requirements)
	if output, err := install.CombinedOutput(); err != nil {
		skip(t, fmt.Sprintf("the packages of %s cannot be had, so readers are not tested with them: %v\n%s", requirements, err, output))
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// docs/lake.md names the versions that catalogs are tested with here.
func TestTheLakesDocumentationNamesTheVersions(t *testing.T) {
	text, err := os.ReadFile("../../docs/lake.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []struct{ requirements, prefix, requirement string }{
		{"catalogs.txt", "PyIceberg ", "pyiceberg"},
		{"catalogs.txt", "deltalake ", "deltalake"},
		{"ducklake.txt", "DuckDB ", "duckdb"},
		{"requirements.txt", "pandas ", "pandas"},
		{"requirements.txt", "PyArrow ", "pyarrow"},
		{"requirements.txt", "Polars ", "polars"},
		{"requirements.txt", "DuckDB ", "duckdb"},
		{"requirements.txt", "chDB ", "chdb"},
		{"requirements.txt", "Spark ", "pyspark"},
	} {
		requirements, err := os.ReadFile(named.requirements)
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`(?m)^` + named.requirement + `==(.*)$`).FindSubmatch(requirements)
		if version == nil || !strings.Contains(string(text), named.prefix+string(version[1])) {
			t.Errorf("docs/lake.md does not have %s%s", named.prefix, version)
		}
	}
}
