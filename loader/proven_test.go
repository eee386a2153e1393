package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	ros "github.com/caret-bpf/caret-bpf/target"
)

// TestOnlyThePlannedFileIsProbed puts another file with the same bytes in the place of a planned one: the planned one
// is probed, by whatever path it can be reached, and not the other.
func TestOnlyThePlannedFileIsProbed(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		planned, victim := buildLibrary(t, "libplanned.so"), buildLibrary(t, "libvictim.so")
		first, second := startTargetWith(t, planned), startTargetWith(t, victim)
		path := filepath.Join(t.TempDir(), "libtracetools.so")
		if err := os.Symlink(planned, path); err != nil {
			t.Fatal(err)
		}
		site := fileSite(t, path, "ros_trace_callback_start", abi.EventCallbackStart)
		if err := errors.Join(os.Remove(path), os.Symlink(victim, path)); err != nil {
			t.Fatal(err)
		}
		before, victimBefore := first.text(planned), second.text(victim)
		newRecording(t, w).attach(0, site)
		if bytes.Equal(first.text(planned), before) {
			t.Error("the planned file is not probed")
		}
		if !bytes.Equal(second.text(victim), victimBefore) {
			t.Error("another file is probed than the one that was planned")
		}
	})
}

// TestWrittenFilesAreNotProbed writes a file in place after it was planned, so that the planned bytes are still there,
// but are a part of another instruction; as its owner can, he puts the time back.
func TestWrittenFilesAreNotProbed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("on arm64 every fourth byte begins an instruction")
	}
	const movImmediate = 0xb8 // takes the next four bytes for itself
	requireRoot(t)
	w := ways()[0]
	w.require(t)
	for name, test := range map[string]struct {
		keepTime bool
		want     error
	}{
		"the time tells":   {false, ErrFileChanged},
		"the time is kept": {true, ErrUnsafeSite},
	} {
		t.Run(name, func(t *testing.T) {
			path := buildLibrary(t, "library.so")
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(path, past, past); err != nil {
				t.Fatal(err)
			}
			site := fileSite(t, path, "ros_trace_callback_start", abi.EventCallbackStart)
			site.Offset, site.Address = site.Offset+1, site.Address+1
			if err := provenIn(site); err != nil {
				t.Fatal(err)
			}
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte{movImmediate}, int64(site.Offset)-1); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if test.keepTime {
				if err := os.Chtimes(path, past, past); err != nil {
					t.Fatal(err)
				}
			}
			r := newRecording(t, w)
			attachment, problems, err := r.loader.Attach(t.Context(), 0, []probes.Site{site})
			if err != nil || len(problems) != 1 {
				t.Fatalf("%v, problems %v; want one problem", err, problems)
			}
			expectError(t, problems[0], test.want)
			if len(attachment.shared) > 0 {
				t.Error("it is attached")
			}
		})
	}
}

// TestVerifyTellsOfWrittenFiles: a file that is written while it is probed is told from one whose time alone has
// changed.
func TestVerifyTellsOfWrittenFiles(t *testing.T) {
	requireRoot(t)
	w := ways()[0]
	w.require(t)
	path := buildLibrary(t, "library.so")
	site := fileSite(t, path, "ros_trace_callback_start", abi.EventCallbackStart)
	attachment := newRecording(t, w).attach(0, site)
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(attachment.Verify(), os.Chtimes(path, past, past), attachment.Verify()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing says any more that a function begins there.
	content = bytes.ReplaceAll(content, []byte("ros_trace_callback_start"), []byte("ros_trace_callback_begin"))
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	expectError(t, attachment.Verify(), ErrFileChanged)
	closeAttachment(t, attachment)
	if err := attachment.Verify(); err != nil {
		t.Errorf("of what is detached: %v", err)
	}
}

func provenIn(site probes.Site) error {
	file, err := holdProbedFile(site)
	if err != nil {
		return err
	}
	defer file.Release()
	return prove(context.Background(), []placedSite{{Site: site, file: file}})[0]
}

// refusedProof is of a file that who pays has no share left to read.
type refusedProof struct{}

func (refusedProof) Prove(probes.Site) error {
	return fmt.Errorf("no share left: %w", probes.ErrRefused)
}

func (refusedProof) Close() error { return nil }

// TestRefusedProofsSayNothingOfTheSite: what could not be proven for want of a share may be tried again.
func TestRefusedProofsSayNothingOfTheSite(t *testing.T) {
	for name, newProver := range map[string]func(context.Context) (prover, error){
		"headers": func(context.Context) (prover, error) { return nil, refusedProof{}.Prove(probes.Site{}) },
		"code":    func(context.Context) (prover, error) { return refusedProof{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			site := placedSite{file: &probedFile{newProver: newProver}}
			for _, err := range []error{prove(t.Context(), []placedSite{site})[0], proveAll(t.Context(), []placedSite{site})} {
				if !errors.Is(err, probes.ErrRefused) || errors.Is(err, ErrUnsafeSite) || errors.Is(err, ErrFileChanged) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// writtenWhileAttached is a file that somebody writes after the first proof.
type writtenWhileAttached struct{ proofs int }

func (w *writtenWhileAttached) Prove(probes.Site) error {
	if w.proofs++; w.proofs > 1 {
		return errors.New("another instruction is there")
	}
	return nil
}

func (*writtenWhileAttached) Close() error { return nil }

// TestProofHasTheLastWord: what is no longer proven when it is attached does not stay attached.
func TestProofHasTheLastWord(t *testing.T) {
	requireRoot(t)
	w := ways()[0]
	w.require(t)
	library := buildLibrary(t, "library.so")
	target := startTargetWith(t, library)
	before := target.text(library)
	r := newRecording(t, w)
	proof := &writtenWhileAttached{}
	_, _, err := r.loader.attach(t.Context(), target.pid, target.callbackSites(library)[:1], func(site probes.Site) (*probedFile, error) {
		return newProbedFile(site.Opened, func(context.Context) (prover, error) { return proof, nil })
	})
	expectError(t, err, ErrFileChanged)
	if proof.proofs != 2 || !bytes.Equal(target.text(library), before) {
		t.Errorf("%d proofs, the text is changed: %t", proof.proofs, !bytes.Equal(target.text(library), before))
	}
}

// TestAttachmentsHoldTheirFiles: a file is kept for what is attached to it, and not longer.
func TestAttachmentsHoldTheirFiles(t *testing.T) {
	requireRoot(t)
	w := ways()[0]
	w.require(t)
	site := fileSite(t, buildLibrary(t, "library.so"), "ros_trace_callback_start", abi.EventCallbackStart)
	opened, err := ros.NewFinder().OpenFile(site.Path)
	if err != nil {
		t.Fatal(err)
	}
	site.Opened = opened
	attachment := newRecording(t, w).attach(0, site)
	opened.Release()
	if err := opened.Hold(); err != nil {
		t.Fatalf("the attachment does not hold its file: %v", err)
	}
	opened.Release()
	closeAttachment(t, attachment)
	if err := opened.Hold(); !errors.Is(err, ros.ErrFileClosed) {
		t.Errorf("the file is held by nothing that is attached: %v", err)
	}
}
