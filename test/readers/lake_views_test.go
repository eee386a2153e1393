package readers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
	"github.com/caret-bpf/caret-bpf/test/answers"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Every engine has Go's answers about each recording of a lake from the lake's views, value by value. One recording
// names a vehicle whose name is no text by itself, the other none. A recording that is not there as a whole is not
// seen.
func TestViewsOfALakeEqualGo(t *testing.T) {
	python := environment(t)
	dir := filepath.Join(t.TempDir(), "it's a lake; -- 50 %")
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	publish := func(d *trace.Dataset) (recording string) {
		result, err := l.Publish(t.Context(), d, lake.Request{
			Paths: func(_ context.Context, q *analyze.Query) ([]*system.Path, error) { return fewPaths(t, q) }, PathOptions: ofPaths,
		})
		if err != nil {
			t.Fatal(err)
		}
		return result.Recording
	}
	named, nameless := answers.Dataset(t, 1500, trace.Attribute{Key: "vehicle", Value: "007"}, trace.Attribute{Key: "release", Value: "1.9"}), answers.Dataset(t, 1000)
	var asked []answers.Answer
	find := func(q *analyze.Query) ([]*system.Path, error) { return fewPaths(t, q) }
	asked = append(asked, answers.OfLake(t, named, publish(named), "007", find, ofPaths)...)
	asked = append(asked, answers.OfLake(t, nameless, publish(nameless), "", find, ofPaths)...)
	half := publish(answers.Dataset(t, 500))
	hide(t, dir, half)
	for _, table := range lake.Tables() {
		asked = append(asked, answers.Answer{View: table.Name, Query: "SELECT * FROM " + table.Name + " WHERE recording_id = '" + half + "'"})
	}
	asked = append(asked, answers.Answer{View: "docs/queries.md", Query: "SELECT CASE WHEN count(*) > 0 THEN 'found' END FROM (" + documentedQuery(t) + "\n) q", Want: []string{"found"}})
	for _, engine := range slices.Concat(engines[:1:1], []engine{{name: "duckdb", dialect: "duckdb"}}, engines[1:]) {
		t.Run(engine.name, func(t *testing.T) {
			engine.requireOrSkip(t)
			scripts := []script{{viewsOfLake(t, dir, engine.dialect), asked}}
			if engine.dialect == "spark" {
				scripts = append(scripts, skippedFolder(t))
			}
			compare(t, python, engine.name, scripts)
		})
	}
}

// skippedFolder asks a lake of two vehicles about one. The files of the other are none of Parquet: who opens them
// fails.
func skippedFolder(t *testing.T) script {
	t.Helper()
	dir := t.TempDir()
	l, err := lake.Open(t.Context(), dir, lake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := l.Publish(t.Context(), answers.Dataset(t, 200, trace.Attribute{Key: "vehicle", Value: "asked"}), lake.Request{}); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, lake.TableCallbackFact, "date=2026-11-30", "vehicle=other")
	if err := errors.Join(os.MkdirAll(other, 0o700), os.WriteFile(filepath.Join(other, "x.parquet"), []byte("no Parquet"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return script{viewsOfLake(t, dir, "spark"), []answers.Answer{{
		View: "callback_fact of a vehicle", Query: "SELECT CASE WHEN count(*) > 0 THEN 'found' END FROM callback_fact WHERE vehicle = 'asked'", Want: []string{"found"},
	}}}
}

func viewsOfLake(t *testing.T, dir, dialect string) string {
	t.Helper()
	sql, err := lakeviews.Views(dir, dialect, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sql
}

var ofPaths = analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: true}}

// fewPaths are some of the system's paths.
func fewPaths(t *testing.T, q *analyze.Query) ([]*system.Path, error) {
	t.Helper()
	if err := q.LoadActivity(t.Context()); err != nil {
		return nil, err
	}
	paths, _, err := q.Architecture.Paths(t.Context(), system.PathQuery{Undefined: true, Limit: 20, Nodes: system.DefaultPathNodes})
	return slices.DeleteFunc(paths, func(p *system.Path) bool { return len(p.Nodes) < 2 }), err
}

// hide takes the row away that makes a recording visible.
func hide(t *testing.T, dir, recording string) {
	t.Helper()
	rows, err := filepath.Glob(filepath.Join(dir, lake.TableRecording, "*", "*", recording+"-*.parquet"))
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d files of %s, %v", len(rows), recording, err)
	}
	if err := os.Remove(rows[0]); err != nil {
		t.Fatal(err)
	}
}
