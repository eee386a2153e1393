package lake

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Made takes the rows of a recording that was never recorded, in order of time: for lakes that are made up.
type Made struct {
	Callbacks  *MadeTable[CallbackFact]
	Messages   *MadeTable[MessageFact]
	Paths      *MadeTable[PathFact]
	Hops       *MadeTable[HopFact]
	Responses  *MadeTable[ResponseFact]
	Nodes      *MadeTable[NodeFact]
	Services   *MadeTable[ServiceFact]
	Losses     *MadeTable[Loss]
	Attributes *MadeTable[RecordingAttribute]
	Infos      *MadeTable[CallbackInfo]
}

// MadeTable takes the rows of a table.
type MadeTable[T any] struct {
	writer *tableWriter[T]
}

// Write writes rows.
func (t *MadeTable[T]) Write(rows []T) error { return t.writer.write(rows) }

// PublishMade puts a made-up recording into the lake as Publish does. fill writes its rows and returns that of table
// recording, whose format and numbers of files, rows, bytes, callbacks and messages it may leave out.
func (l *Lake) PublishMade(ctx context.Context, recording string, keys []Key, fill func(*Made) (RecordingRow, error)) (err error) {
	part, err := newPartition(recording, keys)
	if err != nil {
		return err
	}
	root, folder := l.store.staging()
	s, err := newStaging(root, folder, l.as)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	files, err := stageMade(part, s, fill)
	if err != nil {
		return err
	}
	p := &publishing{
		lake: l, request: &Request{Replace: true}, id: recording,
		manifest: manifest{Format: FormatVersion, Recording: recording, Keys: keys},
	}
	_, err = p.commit(ctx, s, files)
	return err
}

// anyTable is a MadeTable of any type of rows.
type anyTable interface {
	close() ([]stagedFile, error)
	abandon()
}

// stageMade makes the files, that with the row of recording last.
func stageMade(part *partition, s *staging, fill func(*Made) (RecordingRow, error)) (files []stagedFile, err error) {
	var tables []anyTable
	defer func() {
		if err != nil {
			for _, t := range tables {
				t.abandon()
			}
		}
	}()
	m := &Made{
		Callbacks: made[CallbackFact](TableCallbackFact, part, s.create, &tables), Messages: made[MessageFact](TableMessageFact, part, s.create, &tables),
		Paths: made[PathFact](TablePathFact, part, s.create, &tables), Hops: made[HopFact](TableHopFact, part, s.create, &tables),
		Responses: made[ResponseFact](TableResponseFact, part, s.create, &tables), Nodes: made[NodeFact](TableNodeFact, part, s.create, &tables),
		Services: made[ServiceFact](TableServiceFact, part, s.create, &tables),
		Losses:   made[Loss](TableLoss, part, s.create, &tables), Attributes: made[RecordingAttribute](TableRecordingAttribute, part, s.create, &tables),
		Infos: made[CallbackInfo](TableCallbackInfo, part, s.create, &tables),
	}
	row, err := fill(m)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		of, err := t.close()
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
	}
	slices.SortFunc(files, func(a, b stagedFile) int { return strings.Compare(a.Name, b.Name) })
	row.Format, row.Files = FormatVersion, int64(len(files))
	for i := range files {
		row.Rows += files[i].Rows
		row.Bytes += files[i].Bytes
		switch {
		case strings.HasPrefix(files[i].Name, TableCallbackFact+"/"):
			row.Callbacks += files[i].Rows
		case strings.HasPrefix(files[i].Name, TableMessageFact+"/"):
			row.Messages += files[i].Rows
		case strings.HasPrefix(files[i].Name, TableNodeFact+"/"):
			row.NodeRows = trace.Some(row.NodeRows.Value + files[i].Rows)
		}
	}
	last := made[RecordingRow](TableRecording, part, s.create, &tables)
	if err := last.Write([]RecordingRow{row}); err != nil {
		return nil, err
	}
	of, err := last.writer.close()
	return append(files, of...), err
}

func made[T any](table string, part *partition, create func() (*os.File, string, error), among *[]anyTable) *MadeTable[T] {
	w := newTableWriter[T](table, part, create)
	*among = append(*among, w)
	return &MadeTable[T]{w}
}
