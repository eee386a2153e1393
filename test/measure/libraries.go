package measure

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// CopyLibraries makes copies of a library in a folder. Each has a build-id of its own, as different libraries have.
func CopyLibraries(original, folder string, count int) (paths []string, err error) {
	content, err := os.ReadFile(original)
	if err != nil {
		return nil, err
	}
	file, err := elffile.New(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", original, err)
	}
	text, err := file.BuildID()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", original, err)
	}
	id, err := hex.DecodeString(text)
	place := bytes.Index(content, id)
	if err != nil || len(id) < 4 || place < 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has the build-id %q", original, text))
	}
	for i := range uint32(count) {
		binary.LittleEndian.PutUint32(content[place:], i)
		path := filepath.Join(folder, fmt.Sprintf("libcopy_%03d.so", i))
		if err := os.WriteFile(path, content, 0o755); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
