package readers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/test/answers"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// script is SQL that makes views, and what they have to answer.
type script struct {
	SQL     string           `json:"sql"`
	Answers []answers.Answer `json:"answers"`
}

// engine is one whose dialect is tested here, and what of the environment must be set for that.
type engine struct{ name, dialect, requires string }

func (e engine) requireOrSkip(t *testing.T) {
	t.Helper()
	if e.requires != "" && os.Getenv(e.requires) == "" {
		t.Skipf("%s is not set", e.requires)
	}
}

var engines = []engine{
	{"clickhouse", "clickhouse", ""},
	{"spark", "spark", ""},
	{"spark-cluster", "spark", "CARET_BPF_SPARK_CLUSTER"}, // takes a minute more
	{"trino", "trino", "CARET_BPF_TRINO"},                 // the address of a server, which is too large to be had for each run
}

// Other engines than DuckDB have Go's answers from the views of their dialects, value by value. What a recording
// has not is empty.
func TestViewsOfOtherEnginesEqualGo(t *testing.T) {
	python := environment(t)
	d, busy, empty := answers.Dataset(t, 3000), answers.BusyDataset(t, 600), emptyDataset(t)
	asked, askedOfBusy := answers.Of(t, d), slices.DeleteFunc(answers.OfBusy(t, busy), func(a answers.Answer) bool {
		return a.View == answers.PathParts // takes engines minutes to plan
	})
	var none []answers.Answer
	for _, a := range slices.Concat(asked, askedOfBusy) {
		none = append(none, answers.Answer{View: "empty " + a.View, Query: a.Query})
	}
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			engine.requireOrSkip(t)
			views := func(d *trace.Dataset) string {
				sql, err := analyze.ViewsIn(d, engine.dialect)
				if err != nil {
					t.Fatal(err)
				}
				return sql
			}
			compare(t, python, engine.name, []script{{views(d), asked}, {views(busy), askedOfBusy}, {views(empty), none}})
		})
	}
}

// emptyDataset has rows of one table.
func emptyDataset(t *testing.T) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Enqueue{{EnqueueTimestamp: 1_760_000_000_123_456_789}})
	tracetest.AddSession(t, dir, trace.NewSession())
	return tracetest.Open(t, dir)
}

func compare(t *testing.T, python, engine string, scripts []script) {
	t.Helper()
	content, err := json.Marshal(scripts)
	if err != nil {
		t.Fatal(err)
	}
	questions := filepath.Join(t.TempDir(), "questions.json")
	if err := os.WriteFile(questions, content, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), python, "views.py", questions, engine).CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
}
