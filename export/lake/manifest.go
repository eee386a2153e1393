package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	manifestFolder = "_manifest"
	manifestSuffix = ".json"
	// begunSuffix is that of a list of what may be in the lake of a recording that is being put there.
	begunSuffix = ".begun"
	// maxManifest bounds what is read of one; a recording of a terabyte has about a megabyte.
	maxManifest = 256 << 20
)

// ErrManifest is returned for a manifest that says what it cannot say.
var ErrManifest = errors.New("no manifest of a recording")

// manifest says what there is of a recording in a lake.
type manifest struct {
	Format    int    `json:"format"`
	Recording string `json:"recording_id"`
	Keys      []Key  `json:"keys"`
	// Paths is how the paths of path_fact were asked for.
	Paths string `json:"paths,omitempty"`
	// Attributes are those of the recording.
	Attributes map[string]string `json:"attributes,omitempty"`
	// Recorded are the rows of the recording that were there to be published, by its tables.
	Recorded map[string]uint64 `json:"recorded_rows"`
	// Damaged are the segments that could not be read, by their paths in the recording.
	Damaged []string `json:"damaged_segments,omitempty"`
	Files   []File   `json:"files"`
	// Row is the file with the row of recording.
	Row File `json:"recording"`
}

func manifestName(recording string) string {
	return path.Join(manifestFolder, recording+manifestSuffix)
}
func begunName(recording string) string { return path.Join(manifestFolder, recording+begunSuffix) }

// askedLike tells whether another publishing of the recording was asked for in the same way.
func (m *manifest) askedLike(other *manifest) bool {
	return m.Format == other.Format && m.Paths == other.Paths && slices.Equal(keyNames(m.Keys), keyNames(other.Keys))
}

// compareContent tells whether it has something of the recording that another publishing lacks, and whether it lacks
// something that the other has.
func (m *manifest) compareContent(other *manifest) (more, less bool) {
	less = len(m.Damaged) > len(other.Damaged)
	more = len(m.Damaged) < len(other.Damaged)
	for table, rows := range m.Recorded {
		more = more || rows > other.Recorded[table]
	}
	for table, rows := range other.Recorded {
		less = less || rows > m.Recorded[table]
	}
	return more, less
}

// names are those of all files.
func (m *manifest) names() []string {
	var names []string
	for i := range m.Files {
		names = append(names, m.Files[i].Name)
	}
	return append(names, m.Row.Name)
}

// encode is the same for the same.
func encode(what any) ([]byte, error) {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// readManifest returns that of a recording; nil if there is none.
func readManifest(ctx context.Context, in store, recording string) (*manifest, error) {
	m := new(manifest)
	name := manifestName(recording)
	if err := readText(ctx, in, name, m); err != nil {
		if errors.Is(err, errNotThere) {
			return nil, nil
		}
		return nil, err
	}
	if m.Format > FormatVersion {
		return nil, fmt.Errorf("%w: %s is of a lake of format %d, and this caret-bpf knows %d: use a newer one", trace.ErrNewerFormat, recording, m.Format, FormatVersion)
	}
	if m.Recording != recording {
		return nil, fmt.Errorf("%w: %s names %q", ErrManifest, name, m.Recording)
	}
	for _, file := range m.names() {
		if !isFileOf(file, recording) {
			return nil, fmt.Errorf("%w: %s names %q", ErrManifest, name, file)
		}
	}
	return m, nil
}

// readBegun returns the names of the files that may be in the lake of a recording that was not put there to the end.
func readBegun(ctx context.Context, in store, recording string) ([]string, error) {
	var names []string
	if err := readText(ctx, in, begunName(recording), &names); err != nil {
		if errors.Is(err, errNotThere) {
			return nil, nil
		}
		return nil, err
	}
	for _, name := range names {
		if !isFileOf(name, recording) {
			return nil, fmt.Errorf("%w: %s names %q", ErrManifest, begunName(recording), name)
		}
	}
	return names, nil
}

// isFileOf tells whether a name is that of a table's file of a recording: a manifest may come from elsewhere, and
// nothing else is removed because of it.
func isFileOf(name, recording string) bool {
	return path.Clean(name) == name && !path.IsAbs(name) && !strings.HasPrefix(name, "..") &&
		strings.HasPrefix(path.Base(name), recording+"-") && strings.HasSuffix(name, parquetSuffix)
}

func readText(ctx context.Context, in store, name string, into any) error {
	return in.read(ctx, name, func(file io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if len(text) > maxManifest {
			return fmt.Errorf("%w: %s is larger than %d bytes", ErrManifest, name, maxManifest)
		}
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrManifest, name, err)
		}
		return nil
	})
}
