package probes

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

// timestampArgument is the position of the timestamp among the arguments of Cyclone DDS's dds_write_impl.
const timestampArgument = 3

// serdataArgument is the position of the ddsi_serdata among the arguments of its dds_writecdr_impl.
const serdataArgument = 3

// file is a library that may hold sites.
type file struct {
	soname, buildID string
	path            string
	opened          *target.OpenFile // nil with openErr
	openErr         error
	device, inode   uint64
	id              target.FileID
	armed           bool
}

// place says in which file a site is.
func (f file) place(site *Site) {
	site.Library, site.BuildID, site.Path = f.soname, f.buildID, f.path
	site.Device, site.Inode, site.File, site.Armed = f.device, f.inode, f.id, f.armed
	site.Opened = f.opened
}

// elf reads the file's headers. The result must be closed.
func (f file) elf(ctx context.Context) (*elffile.File, error) {
	if f.openErr != nil {
		return nil, f.openErr
	}
	return f.opened.ELF(ctx)
}

// readArguments is how many arguments of a function the kernel programs read.
const readArguments = 5

// wordSize is what a push moves the stack pointer by.
const wordSize = 8

// sourceKey names a source of the catalogue.
type sourceKey struct {
	event  abi.Event
	source sourceName
}

// sourceName tells the sources of an event apart, whatever the distribution.
type sourceName struct {
	library Library
	symbol  string
	form    abi.Form
	returns bool
}

func (s Source) name() sourceName { return sourceName{s.Library, s.Symbol, s.Form, s.Returns} }

// result is what the search for a source in a file came to.
type result struct {
	sites []Site
	err   error
}

func mappedFiles(modules []target.Module) []file {
	files := make([]file, 0, len(modules))
	for _, module := range modules {
		opened, err := module.Opened()
		files = append(files, file{
			soname: cmp.Or(module.Soname, module.Name()), buildID: module.BuildID, path: module.OpenPath(), opened: opened, openErr: err,
			device: module.Device, inode: module.Inode, id: module.File,
		})
	}
	return files
}

func expectedFiles(expected []target.ExpectedLibrary) []file {
	files := make([]file, 0, len(expected))
	for _, library := range expected {
		files = append(files, file{
			soname: cmp.Or(library.Soname, filepath.Base(library.Path)), buildID: library.BuildID, path: library.OpenPath, opened: library.Opened,
			device: library.Device, inode: library.Inode, id: library.File, armed: true,
		})
	}
	return files
}

// foundSource is a source of an event with what the search for it came to.
type foundSource struct {
	entry  Entry
	source Source
	result
}

// search looks for every source of the distribution that lies in the file.
func (p *Plan) search(ctx context.Context, f file) {
	for _, found := range p.options.Cache.sourcesIn(ctx, p, f, func() []foundSource { return p.sourcesIn(ctx, f) }) {
		sites := slices.Clone(found.sites)
		for i := range sites {
			site := &sites[i]
			site.Event, site.Provenance, site.Required = found.entry.Event, found.source.Provenance, found.entry.Required
			f.place(site)
		}
		key := sourceKey{found.entry.Event, found.source.name()}
		p.results[key] = append(p.results[key], result{sites, found.err})
	}
}

// sourcesIn looks for every source of the distribution that lies in the file. It stops when ctx ends.
func (p *Plan) sourcesIn(ctx context.Context, f file) (all []foundSource) {
	var opened *elffile.File
	var openErr error
	for _, entry := range catalogue {
		if ctx.Err() != nil {
			return all
		}
		for _, source := range entry.sources(p.Distro) {
			version, ok := source.Library.version(f.soname)
			if !ok || source.CarriedBy != 0 {
				continue
			}
			if opened == nil && openErr == nil {
				if opened, openErr = f.elf(ctx); openErr == nil {
					defer opened.Close()
				}
			}
			found := result{err: openErr}
			if openErr == nil {
				found.sites, found.err = p.locate(opened, source, version)
				if refused := opened.Refused(); refused != nil {
					found.sites, found.err = nil, refused
				}
			}
			if found.err != nil {
				found.err = fmt.Errorf("%s: %w", f.soname, found.err)
			}
			all = append(all, foundSource{entry, source, found})
		}
	}
	return all
}

// locate finds the instructions of a source in a file of its library.
func (p *Plan) locate(opened *elffile.File, source Source, version string) ([]Site, error) {
	site := Site{Form: source.Form}
	var err error
	if site.Parameter, err = p.parameter(opened, source, version); err != nil {
		return nil, err
	}
	symbol, err := findFunction(opened, source)
	if err != nil {
		return nil, err
	}
	site.Symbol = symbol.Name
	if source.Returns {
		return p.returns(opened, site)
	}
	found, err := p.instruction(opened, source, symbol)
	if err != nil {
		return nil, err
	}
	sites := []Site{site.at(found)}
	if source.ReturnOf != "" {
		returned, err := opened.ReturnOf(symbol.Name, source.ReturnOf)
		if err != nil {
			return nil, err
		}
		site.Form++
		if site.Parameter, err = answerPlace(opened, source, symbol, site.Parameter); err != nil {
			return nil, err
		}
		sites = append(sites, site.at(returned))
	}
	return sites, nil
}

// answerPlace is the parameter of a source's second site, which is that of the first where the source has no answer.
func answerPlace(opened *elffile.File, source Source, symbol elffile.Symbol, parameter uint16) (uint16, error) {
	if source.Answer == 0 {
		return parameter, nil
	}
	place, err := opened.PassedLocal(symbol, source.ReturnOf, source.Answer)
	switch {
	case errors.Is(err, elffile.ErrUnexpectedShape), err == nil && place >= math.MaxUint16:
		return 0, nil
	case err != nil:
		return 0, err
	}
	return uint16(place + 1), nil
}

// returns finds where the calls of the function return to that a site's symbol names.
func (p *Plan) returns(opened *elffile.File, site Site) ([]Site, error) {
	if p.shadowStack {
		return nil, errors.New("the process has a shadow stack, with which probes behind calls were never tried")
	}
	found, err := opened.ReturnsOf(site.Symbol)
	if err != nil {
		return nil, err
	}
	site.Role = abi.RoleReturn
	sites := make([]Site, len(found))
	for i := range found {
		sites[i] = site.at(found[i])
	}
	return sites, nil
}

// at returns the site at an instruction.
func (s Site) at(found elffile.Site) Site {
	s.Address, s.Offset, s.Class, s.Emulation = found.Address, found.FileOffset, found.Class, found.Emulation
	s.Instruction = hex.EncodeToString(found.Instruction)
	s.StackWords = int8(found.StackOffset / wordSize)
	return s
}

// parameter is the number that the kernel program needs at the sites of a source.
func (p *Plan) parameter(opened *elffile.File, source Source, version string) (uint16, error) {
	switch {
	case source.Library == LibraryFastDDS2, source.Library == LibraryFastDDS3:
		offset, ok := cacheChangeTimestamps[source.Library.String()+"."+version]
		if !ok {
			return 0, fmt.Errorf("where Fast DDS %s keeps the timestamp of a change is not known (known: %s)", version,
				strings.Join(knownFastDDS(), ", "))
		}
		return offset, nil
	case source.Offset != nil:
		soname, err := opened.Soname()
		if err != nil {
			return 0, err
		}
		layout, err := layouts.For(string(p.Distro.Like()), opened.Machine(), layouts.Learn(soname, opened))
		if source.OffsetOptional && errors.Is(err, layouts.ErrUnknown) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return uint16(source.Offset(layout)), nil
	}
	return 0, nil
}

// instruction chooses the instruction of a source in its function.
func (p *Plan) instruction(opened *elffile.File, source Source, symbol elffile.Symbol) (elffile.Site, error) {
	if source.AfterCallOf == "" {
		return opened.FunctionSite(symbol, elffile.SiteRequest{
			Arguments: readArguments, Entry: p.options.Choice == ChooseEntries, NoCalls: p.shadowStack || !p.options.Callers, Kernel: runningKernel(),
			Cheaper: p.cheaper(),
		})
	}
	if p.shadowStack {
		return elffile.Site{}, errors.New("the process has a shadow stack, with which probes on calls were never tried")
	}
	call, err := opened.CallAfter(symbol.Name, source.AfterCallOf)
	if err != nil {
		return elffile.Site{}, err
	}
	if source.Form == abi.FormCycloneDDSWrite && !slices.Contains(call.ResultArguments, timestampArgument) {
		return elffile.Site{}, fmt.Errorf("%w: the call after %s in %s does not pass its result as argument %d",
			elffile.ErrUnexpectedShape, source.AfterCallOf, symbol.Name, timestampArgument)
	}
	if source.Form == abi.FormCycloneDDSSerdata && !slices.Contains(call.ResultStores[serdataArgument], serdataTimestamp) {
		return elffile.Site{}, fmt.Errorf("%w: the call after %s in %s does not pass what it stored its result in as argument %d",
			elffile.ErrUnexpectedShape, source.AfterCallOf, symbol.Name, serdataArgument)
	}
	return call.Site, nil
}

// cheaper compares sites by their measured costs; nil where there are only the defaults, which know no more than
// classes.
func (p *Plan) cheaper() func(one, other elffile.Site) bool {
	costs := p.options.costs()
	if !costs.Measured {
		return nil
	}
	return func(one, other elffile.Site) bool {
		return clearlyCheaper(costs.Of(Site{}.at(one)), costs.Of(Site{}.at(other)))
	}
}

// findFunction finds the exported function of a source. One whose code is shared with another function is refused: the
// linker folded them, and a probe would take every call of the one for a call of the other.
func findFunction(opened *elffile.File, source Source) (elffile.Symbol, error) {
	var symbol elffile.Symbol
	var err error
	if source.Prefix {
		symbol, err = findByPrefix(opened, source.Symbol)
	} else {
		symbol, err = opened.Lookup(source.Symbol)
	}
	if err != nil {
		return elffile.Symbol{}, err
	}
	aliases, err := opened.SymbolsAt(symbol.Address)
	if err != nil {
		return elffile.Symbol{}, err
	}
	for _, alias := range aliases {
		if alias.Exported && alias.Name != symbol.Name && !isVariant(alias.Name, symbol.Name) {
			return elffile.Symbol{}, fmt.Errorf("%w: %s and %s have the same code", elffile.ErrAmbiguousSymbol, symbol.Name, alias.Name)
		}
	}
	return symbol, nil
}

// isVariant reports whether two symbols are variants of one C++ constructor or destructor (for complete objects and for
// base class sub-objects), which share their code where no base is virtual.
func isVariant(a, b string) bool {
	first := elffile.Demangle(a)
	return first != a && len(first) < elffile.MaxDemangled && first == elffile.Demangle(b)
}

// findByPrefix finds the one exported function whose name has the prefix. Local symbols are parts of functions.
func findByPrefix(opened *elffile.File, prefix string) (elffile.Symbol, error) {
	symbols, err := opened.LookupPrefix(prefix)
	if err != nil {
		return elffile.Symbol{}, err
	}
	symbols = slices.DeleteFunc(symbols, func(s elffile.Symbol) bool { return !s.Exported })
	switch len(symbols) {
	case 0:
		return elffile.Symbol{}, fmt.Errorf("%s...: %w", prefix, elffile.ErrSymbolNotFound)
	case 1:
		return symbols[0], nil
	}
	return elffile.Symbol{}, fmt.Errorf("%s...: %w: %d functions", prefix, elffile.ErrAmbiguousSymbol, len(symbols))
}
