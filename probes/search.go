package probes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

// timestampArgument is the position of the timestamp among the arguments of Cyclone DDS's dds_write_impl.
const timestampArgument = 3

// file is a library that may hold sites.
type file struct {
	soname, buildID string
	path            string
	device, inode   uint64
	id              target.FileID
	armed           bool
}

// sourceKey names a source of the catalogue.
type sourceKey struct {
	event  Event
	source sourceName
}

// sourceName tells the sources of an event apart, whatever the distribution.
type sourceName struct {
	library Library
	symbol  string
	form    Form
}

func (s Source) name() sourceName { return sourceName{s.Library, s.Symbol, s.Form} }

// result is what the search for a source in a file came to.
type result struct {
	site Site
	err  error
}

func mappedFiles(modules []target.Module) []file {
	files := make([]file, 0, len(modules))
	for _, module := range modules {
		soname := module.Soname
		if soname == "" {
			soname = module.Name()
		}
		files = append(files, file{
			soname: soname, buildID: module.BuildID, path: module.OpenPath(),
			device: module.Device, inode: module.Inode, id: module.File,
		})
	}
	return files
}

func expectedFiles(expected []target.ExpectedLibrary) []file {
	files := make([]file, 0, len(expected))
	for _, library := range expected {
		files = append(files, file{
			soname: library.Soname, buildID: library.BuildID, path: library.OpenPath,
			device: library.Device, inode: library.Inode, id: library.File, armed: true,
		})
	}
	return files
}

// search looks for every source of the distribution that lies in the file.
func (p *Plan) search(f file) {
	var opened *elffile.File
	var openErr error
	for _, entry := range catalogue {
		for _, source := range entry.sources(p.Distro) {
			version, ok := source.Library.version(f.soname)
			if !ok || source.CarriedBy != 0 {
				continue
			}
			if opened == nil && openErr == nil {
				if opened, openErr = elffile.Open(f.path); openErr == nil {
					defer opened.Close()
				}
			}
			found := result{err: openErr}
			if openErr == nil {
				found.site, found.err = p.locate(opened, source, version)
			}
			if found.err != nil {
				found.err = fmt.Errorf("%s: %w", f.soname, found.err)
			}
			found.site.Event, found.site.Form, found.site.Provenance = entry.Event, source.Form, source.Provenance
			found.site.Required = entry.Required
			found.site.Library, found.site.BuildID, found.site.Path = f.soname, f.buildID, f.path
			found.site.Device, found.site.Inode, found.site.File, found.site.Armed = f.device, f.inode, f.id, f.armed
			key := sourceKey{entry.Event, source.name()}
			p.results[key] = append(p.results[key], found)
		}
	}
}

// locate finds the instruction of a source in a file of its library.
func (p *Plan) locate(opened *elffile.File, source Source, version string) (Site, error) {
	var site Site
	if source.Library == LibraryFastDDS2 {
		offset, ok := cacheChangeTimestamps[version]
		if !ok {
			return Site{}, fmt.Errorf("where Fast DDS %s keeps the timestamp of a change is not known (known: %s)",
				version, knownFastDDSVersions())
		}
		site.Parameter = offset
	}
	symbol, err := findFunction(opened, source)
	if err != nil {
		return Site{}, err
	}
	site.Symbol = symbol.Name
	found, err := p.instruction(opened, source, symbol)
	if err != nil {
		return Site{}, err
	}
	site.Address, site.Offset, site.Class = found.Address, found.FileOffset, found.Class
	return site, nil
}

// instruction chooses the instruction of a source in its function.
func (p *Plan) instruction(opened *elffile.File, source Source, symbol elffile.Symbol) (elffile.Site, error) {
	if source.AfterCallOf == "" {
		return opened.FunctionSite(symbol)
	}
	if p.shadowStack {
		return elffile.Site{}, errors.New("the process has a shadow stack, with which probes on calls were never tried")
	}
	call, err := opened.CallAfter(symbol.Name, source.AfterCallOf)
	if err != nil {
		return elffile.Site{}, err
	}
	if !slices.Contains(call.ResultArguments, timestampArgument) {
		return elffile.Site{}, fmt.Errorf("%w: the call after %s in %s does not pass its result as argument %d",
			elffile.ErrUnexpectedShape, source.AfterCallOf, symbol.Name, timestampArgument)
	}
	return call.Site, nil
}

// findFunction finds the exported function of a source. One whose code is shared with another function is refused: the linker
// folded them, and a probe would take every call of the one for a call of the other.
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
		if alias.Exported && alias.Name != symbol.Name {
			return elffile.Symbol{}, fmt.Errorf("%w: %s and %s have the same code", elffile.ErrAmbiguousSymbol, symbol.Name, alias.Name)
		}
	}
	return symbol, nil
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
