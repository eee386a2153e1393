package trace

import (
	"context"
	"os"
	"reflect"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// EntityKey says whose row one is in a table of entities: the number of the entity or, in the table of processes, the
// process.
type EntityKey struct {
	Process ProcessKey
	Entity  uint64
}

// HasEntities tells whether the table's rows are of entities or processes. Until the recording is closed one may have
// several.
func (t *Table) HasEntities() bool { return t.Column("revision") != nil }

// processTelling are the columns of the table of processes that say whose row one is and which of them counts.
type processTelling struct {
	ProcessKey
	Revision uint64 `column:"revision,null"`
}

// ScanSegment reads all rows of a segment in an open file, also those that do not count any more, in batches as Scan
// does. A segment that cannot be read to its end gives a SegmentError after what was read.
func ScanSegment(ctx context.Context, table *Table, file *os.File, each func(rows AnyRows) error) error {
	f, err := segmentOf(file)
	if err != nil {
		return &SegmentError{Path: file.Name(), Err: err}
	}
	return table.rows.empty().scanFile(ctx, table, f, each)
}

func segmentOf(file *os.File) (*segmentFile, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	parsed, err := columnar.Open(file, info.Size())
	if err != nil {
		return nil, err
	}
	return &segmentFile{File: parsed, file: file, version: versionOf(info)}, nil
}

// ScanTellings calls each with whose row each row of a segment is and with its revision, in the order of the rows. The
// revision is 0 where the recorder gave none. Errors are those of ScanSegment.
func ScanTellings(ctx context.Context, table *Table, file *os.File, each func(key EntityKey, revision uint64)) error {
	f, err := segmentOf(file)
	if err != nil {
		return &SegmentError{Path: file.Name(), Err: err}
	}
	return scanTellings(ctx, table, f, each)
}

func scanTellings(ctx context.Context, table *Table, f *segmentFile, each func(key EntityKey, revision uint64)) error {
	if table.Name == TableProcess {
		return scanFile(ctx, table, f, func(rows []processTelling) error {
			for i := range rows {
				each(EntityKey{Process: rows[i].ProcessKey}, rows[i].Revision)
			}
			return nil
		})
	}
	return scanFile(ctx, table, f, func(rows []Telling) error {
		for i := range rows {
			if rows[i].Entity == 0 {
				rows[i].Revision = 0
			}
			each(EntityKey{Entity: rows[i].Entity}, rows[i].Revision)
		}
		return nil
	})
}

func scanFile[T any](ctx context.Context, table *Table, f *segmentFile, each func(rows []T) error) error {
	columns, err := projection(table, reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	s := newScanner(columns, each)
	err = s.scan(ctx, f)
	if s.stop != nil {
		return s.stop
	}
	if err != nil {
		return &SegmentError{Path: f.file.Name(), Err: err}
	}
	return nil
}
