package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// chartFile is a file that a drawing is written to.
type chartFile struct {
	*wholefile.File
	draw func(*chart.Figure, io.Writer) error
}

// chartFiles are those of a drawing. They are begun before anything is read, so that a long question is not asked in
// vain, and appear when they are whole.
type chartFiles []chartFile

// create begins the files that the flags name. None is left if one cannot be made.
func (f *chartFlags) create(c console) (files chartFiles, err error) {
	for _, named := range []struct {
		path string
		draw func(*chart.Figure, io.Writer) error
	}{{f.svg, (*chart.Figure).SVG}, {f.png, (*chart.Figure).PNG}} {
		if named.path == "" {
			continue
		}
		file, err := wholefile.Create(named.path, 0o640, c.caller)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("write drawing: %w", err), files.discard())
		}
		files = append(files, chartFile{file, named.draw})
	}
	return files, nil
}

// chartBytes is the length of the pieces in which a drawing is written.
const chartBytes = 1 << 20

// write draws into all files, and then makes them appear. If that fails, those that have not appeared are discarded.
func (files chartFiles) write(figure *chart.Figure) error {
	for _, file := range files {
		out := bufio.NewWriterSize(file, chartBytes)
		if err := errors.Join(file.draw(figure, out), out.Flush()); err != nil {
			return errors.Join(err, files.discard())
		}
	}
	for i, file := range files {
		if err := file.Commit(); err != nil {
			return errors.Join(fmt.Errorf("write drawing: %w", err), files[i+1:].discard())
		}
	}
	return nil
}

func (files chartFiles) discard() (err error) {
	for _, file := range files {
		err = errors.Join(err, file.Discard())
	}
	return err
}
