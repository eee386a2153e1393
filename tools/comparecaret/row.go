package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// row is one row of an answer in the form in which both tools' rows can be compared.
type row struct {
	// of is what the row is of, such as a callback or a path.
	of string
	// begin and the rest of the times are nanoseconds of Unix time as text; an unknown one is empty. Of a message they
	// are those of its publish and of its layers.
	begin string
	// rest has the times but for begin and end.
	rest string
	// end is empty if it never came.
	end string
}

// reader reads the rows of a CSV file by the names of its columns.
type reader struct {
	columns map[string]int
	record  []string
	err     error
}

// column is the value of a column of the row that is being read.
func (r *reader) column(name string) string {
	at, ok := r.columns[name]
	if !ok {
		r.err = errors.Join(r.err, fmt.Errorf("there is no column %q", name))
		return ""
	}
	return r.record[at]
}

// first is the value of the first of the columns that has one.
func (r *reader) first(names ...string) string {
	for _, name := range names {
		if value := r.column(name); value != "" {
			return value
		}
	}
	return ""
}

// readRows gives take each row of a CSV file.
func readRows(file string, take func(*reader)) error {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return fmt.Errorf("read answers: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := readCSV(f, take); err != nil {
		return fmt.Errorf("read answers of %s: %w", file, err)
	}
	return nil
}

func readCSV(input io.Reader, take func(*reader)) error {
	records := csv.NewReader(input)
	header, err := records.Read()
	if err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	r := reader{columns: map[string]int{}}
	for i, name := range header {
		r.columns[name] = i
	}
	for {
		r.record, err = records.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(&r)
		if r.err != nil {
			return r.err
		}
	}
}

// edge writes what a row of two ends and a topic is of.
func edge(from, topic, to string) string { return strings.Join([]string{from, topic, to}, " ") }

// subtract takes the rows out that both have, each as often as both have it.
func subtract(caret, ours []row) (equal int, onlyCaret, onlyOurs []row) {
	left := map[row]int{}
	for _, r := range ours {
		left[r]++
	}
	for _, r := range caret {
		if left[r] > 0 {
			left[r]--
			equal++
		} else {
			onlyCaret = append(onlyCaret, r)
		}
	}
	for _, r := range slices.Backward(ours) {
		if left[r] > 0 {
			left[r]--
			onlyOurs = append(onlyOurs, r)
		}
	}
	slices.Reverse(onlyOurs)
	return equal, onlyCaret, onlyOurs
}
