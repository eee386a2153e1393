package probes

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// ErrRefused says that a file was not read as far as a proof needs, because who pays for it has used his share, or
// nobody waits for it any more.
var ErrRefused = elffile.ErrRefused

// Prover proves sites of one file anew, on the bytes that the file has now. What was known of it before does not count.
type Prover struct{ file *elffile.File }

// NewProver reads the headers of a file, which must be held as long as the Prover is used, and until ctx ends. Who pays
// for ctx pays for the proofs. The Prover must be closed.
func NewProver(ctx context.Context, opened *target.OpenFile) (*Prover, error) {
	file, err := opened.ELF(ctx)
	if err != nil {
		return nil, err
	}
	return &Prover{file}, nil
}

// Close gives back what is kept of the file, which stays open.
func (p *Prover) Close() error { return p.file.Close() }

// Prove returns an error unless decoding proves that the site's instruction begins at its offset in the function that
// its Symbol names, for callers and returns in any function, and that a probe is safe there. ErrRefused if the file was
// not read to its end.
func (p *Prover) Prove(site Site) error {
	err := p.prove(site)
	if refused := p.file.Refused(); refused != nil {
		return refused
	}
	return err
}

func (p *Prover) prove(site Site) error {
	address, err := p.file.AddressOf(site.Offset)
	if err != nil {
		return err
	}
	var found elffile.Site
	if site.Role == abi.RoleCaller || site.Role == abi.RoleReturn {
		found, err = p.file.SiteAt(address)
	} else {
		found, err = p.file.SiteInFunction(site.Symbol, address)
	}
	if err != nil {
		return err
	}
	if found.FileOffset != site.Offset {
		return fmt.Errorf("%w: segments overlap at offset %#x", elffile.ErrMalformed, site.Offset)
	}
	planned, err := hex.DecodeString(site.Instruction)
	if err != nil || !bytes.HasPrefix(found.Instruction, planned) {
		return fmt.Errorf("% x is at offset %#x, planned %s", found.Instruction, site.Offset, site.Instruction)
	}
	return nil
}
