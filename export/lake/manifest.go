package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// begunSuffix is that of the claim of a publisher.
	begunSuffix = ".begun"
	// publicationBytes is as much of a hash as tells publications of one recording apart.
	publicationBytes = 4
	// maxManifest bounds what is read of one; a recording of a terabyte has about a megabyte.
	maxManifest = 256 << 20
)

// ErrManifest is returned for a manifest that says what it cannot say.
var ErrManifest = errors.New("no manifest of a recording")

// manifest says what there is of a recording in a lake.
type manifest struct {
	Format    int    `json:"format"`
	Recording string `json:"recording_id"`
	// Publication tells what was published from what else may be published of the recording.
	Publication string `json:"publication"`
	Keys        []Key  `json:"keys"`
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

// nameByContent names the publication and the files, which are named by their recording, by what is in them.
func (m *manifest) nameByContent() error {
	text, err := encode(m)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	m.Publication = hex.EncodeToString(hash[:publicationBytes])
	rename := func(f *File) {
		folder, name := path.Split(f.Name)
		f.Name = folder + m.Recording + "-" + m.Publication + strings.TrimPrefix(name, m.Recording)
	}
	for i := range m.Files {
		rename(&m.Files[i])
	}
	rename(&m.Row)
	return nil
}

// claim says that somebody puts a recording into the lake, and what of it may be there.
type claim struct {
	Publication string `json:"publication"`
	// Files are those of this publication, Former those of others.
	Files  []string `json:"files"`
	Former []string `json:"former,omitempty"`
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
	m, _, err := readManifestText(ctx, in, recording)
	return m, err
}

// readManifestText returns the text, too, also with ErrManifest.
func readManifestText(ctx context.Context, in store, recording string) (*manifest, []byte, error) {
	m := new(manifest)
	name := manifestName(recording)
	text, err := readText(ctx, in, name, m)
	if err != nil || text == nil {
		return nil, text, err
	}
	if m.Format > FormatVersion {
		return nil, text, fmt.Errorf("%w: %s is of a lake of format %d, and this caret-bpf knows %d: use a newer one", trace.ErrNewerFormat, recording, m.Format, FormatVersion)
	}
	if m.Recording != recording {
		return nil, text, fmt.Errorf("%w: %s names %q", ErrManifest, name, m.Recording)
	}
	if err := checkNames(name, recording, m.names()); err != nil {
		return nil, text, err
	}
	return m, text, nil
}

// readClaim returns the claim of a recording with its text; nil if there is none. With ErrManifest there is a text.
func readClaim(ctx context.Context, in store, recording string) (*claim, []byte, error) {
	c := new(claim)
	name := begunName(recording)
	text, err := readText(ctx, in, name, c)
	if err != nil || text == nil {
		return nil, text, err
	}
	if err := checkNames(name, recording, slices.Concat(c.Files, c.Former)); err != nil {
		return nil, text, err
	}
	return c, text, nil
}

func checkNames(in, recording string, names []string) error {
	for _, name := range names {
		if !isFileOf(name, recording) {
			return fmt.Errorf("%w: %s names %q", ErrManifest, in, name)
		}
	}
	return nil
}

// isFileOf tells whether a name is that of a table's file of a recording: a manifest may come from elsewhere, and
// nothing else is removed because of it.
func isFileOf(name, recording string) bool {
	return path.Clean(name) == name && !path.IsAbs(name) && !strings.HasPrefix(name, "..") &&
		strings.HasPrefix(path.Base(name), recording+"-") && strings.HasSuffix(name, parquetSuffix)
}

// readText decodes a file, and returns its text; nil if there is no such file.
func readText(ctx context.Context, in store, name string, into any) (text []byte, err error) {
	err = in.read(ctx, name, func(file io.Reader) error {
		text, err = io.ReadAll(io.LimitReader(file, maxManifest+1))
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if len(text) > maxManifest {
			return fmt.Errorf("%w: %s is larger than %d bytes", ErrManifest, name, maxManifest)
		}
		return nil
	})
	if errors.Is(err, errNotThere) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return text, fmt.Errorf("%w: %s: %w", ErrManifest, name, err)
	}
	return text, nil
}
