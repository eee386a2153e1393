package dialect_test

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/dialect"
	"github.com/caret-bpf/caret-bpf/analyze/rank"
)

// Percentiles are ranked in integers. That is the rank of the Go queries.
func TestThousandthsRankAsGoDoes(t *testing.T) {
	for _, percentile := range []struct {
		share      float64
		thousandth uint64
	}{{0.5, 500}, {0.9, 900}, {0.99, 990}, {0.999, 999}} {
		for count := uint64(1); count < 300_000; count++ {
			if got, want := (count*percentile.thousandth+999)/1000, rank.Nearest(percentile.share, count); got != want {
				t.Fatalf("%v of %d: rank %d, Go has %d", percentile.share, count, got, want)
			}
		}
	}
}

func TestTextIsQuoted(t *testing.T) {
	const text = `it's \ a "text"; --`
	for name, want := range map[string]string{
		"duckdb": `'it''s \ a "text"; --'`, "trino": `'it''s \ a "text"; --'`,
		"spark": `'it\'s \\ a "text"; --'`, "clickhouse": `'it\'s \\ a "text"; --'`,
	} {
		if got := dialect.ByName(name).Quote(text); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestIdentifiersAreQuoted(t *testing.T) {
	for _, test := range []struct{ dialect, name, want string }{
		{"duckdb", "group", `"group"`},
		{"duckdb", `a "key"`, `"a ""key"""`},
		{"spark", "a `key`", "`a ``key```"},
		{"clickhouse", "Vehicle", `"Vehicle"`},
		{"trino", "my-key", `"my-key"`},
	} {
		if got := dialect.ByName(test.dialect).Identifier(test.name); got != test.want {
			t.Errorf("%s: %s, want %s", test.dialect, got, test.want)
		}
	}
}

func TestPatternsInPathsAreRefused(t *testing.T) {
	for _, name := range dialect.Names() {
		for _, path := range []string{"/a*", "/a?", "/a[b]", "/a{b,c}", `/a\b`} {
			if files, err := dialect.ByName(name).Files("t", dialect.Folder{Path: path}, nil); err == nil || !strings.Contains(err.Error(), "without any of") {
				t.Errorf("%s: %v, %v from %s", name, files, err, path)
			}
		}
	}
}

func TestTemplatesThatAreWrongAreErrors(t *testing.T) {
	for _, source := range []string{"{{", "{{nothing}}", `{{percentile "x" "most"}}`} {
		if sql, err := dialect.ByName("duckdb").Render(source, nil); err == nil {
			t.Errorf("%s from %s", sql, source)
		}
	}
}

// The lesser of null and a number is the number in every engine and version.
func TestLeastIgnoresNulls(t *testing.T) {
	for _, name := range dialect.Names() {
		sql, err := dialect.ByName(name).Render(`{{least "x" "y"}}`, nil)
		if want := "coalesce(least(x, y), x, y)"; err != nil || sql != want {
			t.Errorf("%s: %s, %v; want %s", name, sql, err, want)
		}
	}
}
