package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// programPath is where the packages have the binary, too.
const programPath = "usr/bin/caret-bpf"

// program is the static binary for an architecture, as Go calls it.
type program struct {
	architecture string
	content      []byte
}

// description is what the image says of itself.
type description struct {
	version, revision string
	created           time.Time
}

func (d description) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "caret-bpf",
		"org.opencontainers.image.description": "Recorder of what unmodified ROS 2 programs do",
		"org.opencontainers.image.source":      "https://github.com/caret-bpf/caret-bpf",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     d.version,
		"org.opencontainers.image.revision":    d.revision,
		"org.opencontainers.image.created":     d.created.Format(time.RFC3339),
	}
}

// makeIndex makes one image for all architectures.
func makeIndex(about description, programs []program) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := makeImage(about, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.architecture}},
		})
	}
	return mutate.Annotations(index, about.labels()).(v1.ImageIndex), nil
}

func makeImage(about description, p program) (v1.Image, error) {
	files, err := archiveProgram(p.content, about.created)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS:           "linux",
		Architecture: p.architecture,
		Created:      v1.Time{Time: about.created},
		Config:       v1.Config{Entrypoint: []string{"/" + programPath}, Labels: about.labels()},
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: about.created}, CreatedBy: "tools/image"},
	})
}

// archiveProgram makes the tar that is the image's only layer: the program, and the folders that lead to it.
func archiveProgram(content []byte, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, folder := range []string{"usr/", "usr/bin/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755, ModTime: modified}); err != nil {
			return nil, err
		}
	}
	if err := writeFile(w, programPath, 0o755, content, modified); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeFile(w *tar.Writer, name string, mode int64, content []byte, modified time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: modified}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
