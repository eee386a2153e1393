package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestRewrittenSegmentsAreRead reads segments that DuckDB has written anew, in the forms that docs/dataset.md names.
func TestRewrittenSegmentsAreRead(t *testing.T) {
	rows := tracetest.Random[trace.Callback](30_000, 1)
	source := tracetest.AddSegment(t, t.TempDir(), 0, rows)
	db := openDuckDB(t)
	for _, codec := range []string{"zstd", "snappy", "uncompressed"} {
		for _, version := range []string{"v1", "v2"} {
			t.Run(codec+" "+version, func(t *testing.T) {
				dir := t.TempDir()
				tracetest.AddSession(t, dir, trace.NewSession())
				path := filepath.Join(dir, trace.TableCallback, "0.parquet")
				if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				statement := fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT parquet, CODEC '%s', PARQUET_VERSION '%s')", source, path, codec, version)
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
				d, err := trace.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				read := 0
				err = trace.Scan(t.Context(), d, trace.TableCallback, func(batch []trace.Callback) error {
					if !reflect.DeepEqual(batch, rows[read:read+len(batch)]) {
						t.Fatalf("other rows from row %d on", read)
					}
					read += len(batch)
					return nil
				})
				if err != nil || read != len(rows) {
					t.Errorf("%d rows of %d, %v", read, len(rows), err)
				}
			})
		}
	}
}
