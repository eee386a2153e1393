package lake

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"slices"
	"strconv"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// groupRows is the number of rows of a row group.
	groupRows = 1 << 20
	// fileBytes is the size from which on a table gets another file. What is still in memory comes on top: a row group.
	fileBytes = 448 << 20
	// addedRows is how many rows are added to the columns at once: each column goes through them, and so few stay in the
	// processor's cache meanwhile.
	addedRows = 512
	// writeBytes is the length of the pieces in which a file is written.
	writeBytes = 1 << 20
)

// File is a file of the lake.
type File struct {
	// Name is its path in the lake, with slashes.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// stagedFile is a file that is not in the lake yet.
type stagedFile struct {
	File
	local string // in the folder that files are staged in
	// anew says that it is put into the lake although it seems to be there.
	anew bool
}

// tableWriter writes rows of one table, in the order of time, into files that are to be put into the lake.
type tableWriter[T any] struct {
	name      string
	partition *partition
	create    func() (file *os.File, name string, err error)
	parquet   *columnar.FileWriter
	// release gives back what the writer compresses with.
	release func()
	add     func(trace.AnyRows)
	leading []leadingColumn
	batch   trace.Rows[T]
	group   int // rows of the row group
	// bounds are groupRows and fileBytes but in tests.
	groupRows int
	fileBytes int64

	file  *os.File // nil between files
	local string   // where it is staged
	out   *bufio.Writer
	hash  hash.Hash
	bytes int64
	rows  int64
	files []stagedFile
}

// leadingColumn has the same value in all rows.
type leadingColumn struct {
	column *columnar.ColumnWriter[string]
	value  string
}

func newTableWriter[T any](name string, p *partition, create func() (*os.File, string, error)) *tableWriter[T] {
	leading := []columnar.Column{{Name: leadingID, Type: columnar.TypeString, Encoding: columnar.EncodingDictionary}}
	for _, key := range p.keys {
		leading = append(leading, columnar.Column{Name: key.Name, Type: columnar.TypeString, Nullable: true, Encoding: columnar.EncodingDictionary})
	}
	columns, compressors := trace.ColumnsOf[T](), columnar.NewCompressors()
	w := &tableWriter[T]{
		name: name, partition: p, create: create, groupRows: groupRows, fileBytes: fileBytes, release: compressors.Release,
		parquet: columnar.NewFileWriter(name, slices.Concat(leading, trace.Stored(columns)), compressors,
			[2]string{"caret-bpf.lake_format", strconv.Itoa(FormatVersion)}, [2]string{"caret-bpf.table", name}),
	}
	w.add = trace.NewRowAdder(columns, w.parquet, len(leading))
	values := []string{p.recording}
	for _, key := range p.keys {
		values = append(values, key.Value)
	}
	for i, value := range values {
		w.leading = append(w.leading, leadingColumn{columnar.ColumnOf[string](w.parquet, i), value})
	}
	return w
}

// write adds rows.
func (w *tableWriter[T]) write(rows []T) error {
	for len(rows) > 0 {
		if w.file == nil {
			if err := w.begin(); err != nil {
				return err
			}
		}
		n := min(len(rows), addedRows, w.groupRows-w.group)
		w.batch = rows[:n]
		for i := range w.leading {
			w.leading[i].add(n, i == 0)
		}
		w.add(&w.batch)
		if err := w.parquet.EndRows(n); err != nil {
			return w.failed(err)
		}
		w.rows += int64(n)
		rows = rows[n:]
		if w.group += n; w.group == w.groupRows {
			w.group = 0
			if err := w.parquet.EndGroup(); err != nil {
				return w.failed(err)
			}
		}
		if w.parquet.Size() >= w.fileBytes {
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds the value for so many rows. Where it is not required, "" is null.
func (c *leadingColumn) add(rows int, required bool) {
	if required || c.value != "" {
		c.column.AddRepeated(rows, c.value)
	} else {
		c.column.AddNulls(rows)
	}
}

// begin begins a file.
func (w *tableWriter[T]) begin() (err error) {
	if w.file, w.local, err = w.create(); err != nil {
		return w.failed(err)
	}
	w.hash, w.bytes, w.rows = sha256.New(), 0, 0
	w.out = bufio.NewWriterSize(counted{w.file, w.hash, &w.bytes}, writeBytes)
	if err := w.parquet.Begin(w.out); err != nil {
		return w.failed(err)
	}
	return nil
}

// counted sums up what is written to a file.
type counted struct {
	file  *os.File
	hash  hash.Hash
	bytes *int64
}

func (c counted) Write(part []byte) (int, error) {
	n, err := c.file.Write(part)
	_, _ = c.hash.Write(part[:n]) // which never fails
	*c.bytes += int64(n)
	return n, err
}

// end ends the file.
func (w *tableWriter[T]) end() error {
	w.group = 0
	err := errors.Join(w.parquet.End(), w.out.Flush())
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	w.file = nil
	if err != nil {
		return w.failed(err)
	}
	w.files = append(w.files, stagedFile{local: w.local, File: File{
		Name: w.partition.file(w.name, len(w.files)), Bytes: w.bytes, Rows: w.rows, SHA256: hex.EncodeToString(w.hash.Sum(nil)),
	}})
	return nil
}

// abandon closes the file of a writer that has failed.
func (w *tableWriter[T]) abandon() {
	if w.file != nil {
		_ = w.file.Close()
	}
}

func (w *tableWriter[T]) failed(err error) error {
	return fmt.Errorf("write table %s: %w", w.name, err)
}

// close ends the last file and returns all. A table without rows has a file, too: readers find its columns there, and
// views of a lake whose recordings have none yet find those of later ones.
func (w *tableWriter[T]) close() ([]stagedFile, error) {
	if w.file == nil && len(w.files) == 0 {
		if err := w.begin(); err != nil {
			w.abandon()
			return nil, err
		}
	}
	if w.file != nil {
		if err := w.end(); err != nil {
			return nil, err
		}
	}
	w.release()
	return w.files, nil
}
