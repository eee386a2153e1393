package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrDamaged is wrapped by errors of a lake whose files do not hold what they should.
var ErrDamaged = errors.New("the lake is damaged")

// recording is one that is visible in the lake: it has a row in table recording.
type recording struct {
	lake   string
	folder string // of its partition, in each table's
	id     string
	// publication is what the names of its files begin with: its ID, and what tells publications of it apart.
	publication string

	date       string
	attributes map[string]string

	callbacks, messages, lost, damaged, files int64
}

// recordingColumns are those of table recording that are read.
type recordingColumns struct {
	ID        string `column:"recording_id"`
	Date      string `column:"date,null"`
	Format    int32  `column:"format"`
	Callbacks int64  `column:"callbacks"`
	Messages  int64  `column:"messages"`
	Lost      int64  `column:"lost"`
	Damaged   int64  `column:"damaged_segments"`
	Files     int64  `column:"files"`
}

// recordings lists those of a lake, by their IDs.
func recordings(ctx context.Context, dir string) ([]*recording, error) {
	root := filepath.Join(dir, lake.TableRecording)
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: %s has no folder %s; caret-bpf publish makes it", lake.ErrNotLake, dir, lake.TableRecording)
	}
	var all []*recording
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// As engines do, what begins so is not looked at: it is being written.
		hidden := strings.HasPrefix(entry.Name(), "_") || strings.HasPrefix(entry.Name(), ".")
		switch {
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir() || hidden || !strings.HasSuffix(path, ".parquet"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		r := &recording{lake: dir, folder: folder}
		if err := r.read(ctx, path); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *recording) int { return strings.Compare(a.id, b.id) })
	for i := 1; i < len(all); i++ {
		if all[i].id == all[i-1].id {
			return nil, fmt.Errorf("%w: recording %s is there twice, in %s and %s: remove one", ErrDamaged, all[i].id, all[i-1].folder, all[i].folder)
		}
	}
	return all, nil
}

// read reads the row of the recording, and its attributes.
func (r *recording) read(ctx context.Context, path string) error {
	rows := 0
	err := scanFile(ctx, path, func(some []recordingColumns) error {
		for _, row := range some {
			if row.Format > lake.FormatVersion {
				return fmt.Errorf("%s: %w: it is of version %d, and this program reads %d", path, trace.ErrNewerFormat, row.Format, lake.FormatVersion)
			}
			r.id, r.date = row.ID, row.Date
			r.callbacks, r.messages, r.lost, r.damaged, r.files = row.Callbacks, row.Messages, row.Lost, row.Damaged, row.Files
			rows++
		}
		return nil
	})
	if err != nil {
		return err
	}
	var isFirst bool
	r.publication, isFirst = strings.CutSuffix(filepath.Base(path), lake.FileName("", 0))
	if rows != 1 || !isFirst || !strings.HasPrefix(r.publication, r.id+"-") {
		return fmt.Errorf("%w: %s is not the file of one recording, as caret-bpf publish writes it: it has %d rows", ErrDamaged, path, rows)
	}
	r.attributes = make(map[string]string)
	_, err = scanTable(ctx, r, lake.TableRecordingAttribute, func(some []lake.RecordingAttribute) error {
		for _, a := range some {
			r.attributes[a.Key] = a.Value
		}
		return nil
	})
	return err
}

// checkFiles compares how many files of other tables there are with what the recording's row says. A file that is gone
// would make its latencies look as if they were never there.
func (r *recording) checkFiles() error {
	files := int64(0)
	for _, table := range lake.Tables() {
		if table.Name == lake.TableRecording {
			continue
		}
		for number := 0; ; number++ {
			_, err := os.Stat(filepath.Join(r.lake, table.Name, r.folder, lake.FileName(r.publication, number)))
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return err
			}
			files++
		}
	}
	if files != r.files {
		return fmt.Errorf("%w: %d files of it are there, not %d: publish it again (caret-bpf publish --replace)", ErrDamaged, files, r.files)
	}
	return nil
}

// scanTable passes on the rows that the recording has in a table, and returns how many these are.
func scanTable[T any](ctx context.Context, r *recording, table string, each func([]T) error) (rows int64, err error) {
	for number := 0; ; number++ {
		path := filepath.Join(r.lake, table, r.folder, lake.FileName(r.publication, number))
		err := scanFile(ctx, path, func(some []T) error {
			rows += int64(len(some))
			return each(some)
		})
		if errors.Is(err, fs.ErrNotExist) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

func scanFile[T any](ctx context.Context, path string, each func([]T) error) error {
	err := trace.ScanFile(ctx, path, each)
	if errors.Is(err, trace.ErrCorruptSegment) || errors.Is(err, trace.ErrTruncatedSegment) {
		return fmt.Errorf("%w: %w: publish the recording again (caret-bpf publish --replace), or remove its row of table %s", ErrDamaged, err, lake.TableRecording)
	}
	return err
}
