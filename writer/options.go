package writer

import (
	"os"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
)

// Options are the settings of a Writer. The zero value of a field stands for its default.
type Options struct {
	// SegmentPeriod is the longest time that a row stays in an unfinished segment, give or take the interval of Tick: what
	// a kill -9 or a power cut can lose. Default 15 s.
	SegmentPeriod time.Duration
	// SegmentBytes is the file size at which a segment is closed before its time. Default 64 MiB.
	SegmentBytes int64
	// RowGroupRows is the number of rows in a row group, which is held in memory, compressed, until it is complete.
	// Default 131072.
	RowGroupRows int
	// As is who makes, writes and reads all files and directories of the dataset: they are that user's from the first
	// moment, and made only where that user may make them. Default: the program, with all its rights.
	As *identity.Identity
	// Mode are the permissions of files, whatever the umask; directories may be entered by those who may read files.
	// Default 0640, less what the umask takes away.
	Mode os.FileMode
}

const (
	defaultSegmentPeriod = 15 * time.Second
	defaultSegmentBytes  = 64 << 20
	defaultRowGroupRows  = 128 << 10
)

// limits are the bounds of a segment, as the encoder needs them.
type limits struct {
	segmentBytes int64
	rowGroupRows int
}

func (o Options) withDefaults() Options {
	if o.SegmentPeriod == 0 {
		o.SegmentPeriod = defaultSegmentPeriod
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.RowGroupRows == 0 {
		o.RowGroupRows = defaultRowGroupRows
	}
	return o
}
