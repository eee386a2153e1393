package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeArchive writes a tar of an OCI image layout that has one entry, the index.
func writeArchive(path string, index v1.ImageIndex, about description) (err error) {
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	// The first names the image for those that know tags alone, the second for containerd.
	names := map[string]string{
		"org.opencontainers.image.ref.name": about.version,
		"io.containerd.image.name":          "localhost/caret-bpf:" + about.version,
	}
	if err := written.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	return archiveFolder(path, folder, about.created)
}

// archiveFolder writes a tar of the files below a folder, in the order of their names.
func archiveFolder(path, folder string, modified time.Time) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		return writeFile(w, filepath.ToSlash(relative), 0o644, content, modified)
	})
	if err != nil {
		return err
	}
	return w.Close()
}
