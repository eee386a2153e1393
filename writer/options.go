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
	// Memory is the size in bytes of a file system in memory, which nobody else sees and which ends with the program: the
	// dataset is made there. 0: on disk. It needs CAP_SYS_ADMIN.
	Memory int64
	// Retention says how much is kept; the zero value is all.
	Retention Retention
	// Now is the clock of the dataset's rows, in nanoseconds. Default: real time.
	Now func() int64
}

// Retention bounds what a dataset keeps of rows that are of a moment: callbacks, messages, losses. The oldest segments
// are removed as whole. Attributes stay, and rows of entities and processes until some time after these had ended
// before all that is kept. 0 means no bound.
type Retention struct {
	// Age is how long rows are kept at least.
	Age time.Duration
	// Bytes is how large the closed segments may be together, those of entities and processes included. Where these take
	// more than half of it, the others have half of it.
	Bytes int64
	// Periods is of how many SegmentPeriods rows are kept at least.
	Periods int
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
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.RowGroupRows == 0 {
		o.RowGroupRows = defaultRowGroupRows
	}
	return o
}
