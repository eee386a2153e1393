package trace

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/columnar"
)

var (
	// ErrNotDataset is returned for a directory that is no caret-bpf dataset.
	ErrNotDataset = errors.New("not a caret-bpf dataset")
	// ErrNewerFormat is returned for a dataset of a format that only a later caret-bpf reads.
	ErrNewerFormat = errors.New("dataset format is too new")
	// ErrUnknownTable is returned for a table that the registry does not have.
	ErrUnknownTable = errors.New("unknown table")
	// ErrTruncatedSegment marks a segment that lacks its end: a copy that was cut short.
	ErrTruncatedSegment = columnar.ErrTruncated
	// ErrCorruptSegment marks a segment whose content contradicts itself or the table's schema.
	ErrCorruptSegment = columnar.ErrCorrupt
)
