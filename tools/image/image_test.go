package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const epoch = "1700000000"

var binaries = map[string][]byte{"amd64": []byte("program of amd64"), "arm64": []byte("another one")}

// writeImage calls the tool, and returns the archive.
func writeImage(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	var arguments []string
	for _, architecture := range []string{"amd64", "arm64"} {
		path := filepath.Join(folder, architecture)
		if err := os.WriteFile(path, binaries[architecture], 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, architecture+"="+path)
	}
	output := filepath.Join(folder, "image.tar")
	if err := run(output, "0.1.0", "c0ffee", epoch, arguments); err != nil {
		t.Fatal(err)
	}
	return output
}

// entries are the files of a tar, and the names of its folders.
func entries(t *testing.T, content io.Reader) (files map[string][]byte, headers []*tar.Header) {
	t.Helper()
	files = map[string][]byte{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, header)
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// openIndex unpacks an archive, and returns the only index that its layout names.
func openIndex(t *testing.T, archive string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	files, _ := entries(t, file)
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].MediaType != types.OCIImageIndex {
		t.Fatalf("the layout has %+v, %v; want one index", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index, manifest.Manifests[0]
}

func TestTheImageHasBothPlatforms(t *testing.T) {
	index, descriptor := openIndex(t, writeImage(t))
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if name := descriptor.Annotations["org.opencontainers.image.ref.name"]; name != "0.1.0" {
		t.Errorf("the image is called %q", name)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, entry := range manifest.Manifests {
		platforms = append(platforms, entry.Platform.String())
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %v", platforms)
	}
}

func TestEachImageIsTheProgram(t *testing.T) {
	index, _ := openIndex(t, writeImage(t))
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range manifest.Manifests {
		architecture := entry.Platform.Architecture
		t.Run(architecture, func(t *testing.T) {
			image, err := index.Image(entry.Digest)
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if config.OS != "linux" || config.Architecture != architecture {
				t.Errorf("configured for %s/%s", config.OS, config.Architecture)
			}
			if !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/caret-bpf"}) || len(config.Config.Cmd) > 0 {
				t.Errorf("runs %v %v", config.Config.Entrypoint, config.Config.Cmd)
			}
			for label, want := range map[string]string{
				"org.opencontainers.image.version":  "0.1.0",
				"org.opencontainers.image.revision": "c0ffee",
				"org.opencontainers.image.created":  "2023-11-14T22:13:20Z",
			} {
				if got := config.Config.Labels[label]; got != want {
					t.Errorf("label %s is %q, want %q", label, got, want)
				}
			}
			layers, err := image.Layers()
			if err != nil || len(layers) != 1 {
				t.Fatalf("%d layers, %v", len(layers), err)
			}
			checkLayer(t, layers[0], binaries[architecture])
		})
	}
}

// checkLayer fails where a layer has other than the program, which everybody may execute and nobody write.
func checkLayer(t *testing.T, layer v1.Layer, program []byte) {
	t.Helper()
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close() //nolint:errcheck // only read
	files, headers := entries(t, content)
	if len(files) != 1 || !bytes.Equal(files["usr/bin/caret-bpf"], program) {
		t.Errorf("the layer has %d files, the program is %q", len(files), files["usr/bin/caret-bpf"])
	}
	for _, header := range headers {
		if header.Mode != 0o755 || header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s has mode %o, owner %d:%d, time %v", header.Name, header.Mode, header.Uid, header.Gid, header.ModTime)
		}
	}
}

func TestTheSameGivesTheSameBytes(t *testing.T) {
	var former []byte
	for range 2 {
		content, err := os.ReadFile(writeImage(t))
		if err != nil {
			t.Fatal(err)
		}
		if former != nil && !bytes.Equal(content, former) {
			t.Error("other bytes the second time")
		}
		former = content
	}
}

func TestWrongArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]struct {
		version, epoch string
		arguments      []string
	}{
		"no version":           {"", epoch, []string{"amd64=" + program}},
		"no time":              {"1", "", []string{"amd64=" + program}},
		"no program":           {"1", epoch, nil},
		"no architecture":      {"1", epoch, []string{program}},
		"a program that is no": {"1", epoch, []string{"amd64=" + program + "-missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "image.tar")
			if err := run(output, given.version, "c0ffee", given.epoch, given.arguments); err == nil {
				t.Error("no error")
			}
			if _, err := os.Stat(output); err == nil {
				t.Error("an archive was written")
			}
		})
	}
}
