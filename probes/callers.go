package probes

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/elffile"
)

// addCallers plans, beside the bodies of tracepoints in which the kernel emulates nothing (those of Humble are empty),
// the instructions that call them. Initialization events keep to their bodies: they are rare, and none may be missed.
func (p *Plan) addCallers(ctx context.Context, files []file) {
	bodies := make(map[string]Site) // by function
	for i := range p.Sites {
		site := &p.Sites[i]
		if site.Provenance != FromTracepoint || site.Event.IsInit() || !p.isDear(*site) {
			continue
		}
		site.Role = abi.RoleBody
		if _, known := bodies[site.Symbol]; !known {
			bodies[site.Symbol] = *site
		}
	}
	if len(bodies) == 0 {
		p.examine(files...)
		return
	}
	p.addLibraryLoad(ctx, files)
	for i, callers := range p.options.Cache.callersIn(ctx, files) {
		f := files[i]
		for _, caller := range callers.Known {
			if body, wanted := bodies[caller.Callee]; wanted {
				site := body.calledFrom(f, caller)
				site.Cost = p.options.costs().Of(site)
				p.Sites = append(p.Sites, site)
			}
		}
		certain := true
		for _, function := range slices.Sorted(maps.Keys(bodies)) {
			if reason := callers.Uncertain[function]; reason != "" {
				p.Uncertain = append(p.Uncertain, UncertainCallers{bodies[function].Event, f.soname, reason, f.id})
				certain = false
			}
		}
		if certain {
			p.examine(f)
		}
	}
}

// examine notes that nothing else in files is to be probed.
func (p *Plan) examine(files ...file) {
	for _, f := range files {
		p.Examined = append(p.Examined, f.id)
	}
}

// isDear reports whether the calls of a function are to be probed in place of its body: when a hit of a call costs
// clearly less. Of one whose body the kernel emulates it does not.
func (p *Plan) isDear(body Site) bool {
	costs := p.options.costs()
	if !costs.Measured {
		return body.Class != elffile.ClassEmulated
	}
	return clearlyCheaper(costs.ofKind(elffile.ClassEmulated, kindCall)+costs.Program, costs.Of(body))
}

// The dynamic linker of glibc calls this empty function whenever it begins or ends to map libraries, for debuggers to
// have a breakpoint on.
const (
	dynamicLinker       = "ld-linux-x86-64.so.2"
	libraryLoadFunction = "_dl_debug_state"
)

// addLibraryLoad plans the site that tells of libraries which are loaded later. They may have callers that are not
// probed.
func (p *Plan) addLibraryLoad(ctx context.Context, files []file) {
	index := slices.IndexFunc(files, func(f file) bool { return f.soname == dynamicLinker })
	if index < 0 {
		return
	}
	opened, err := files[index].elf(ctx)
	if err != nil {
		return
	}
	defer opened.Close()
	symbol, err := opened.Lookup(libraryLoadFunction)
	if err != nil {
		return
	}
	found, err := opened.FunctionSite(symbol, elffile.SiteRequest{})
	if err != nil {
		return
	}
	site := Site{Event: abi.EventLibraryLoad, Provenance: FromSymbol, Symbol: symbol.Name}.at(found)
	files[index].place(&site)
	site.Cost = p.options.costs().Of(site)
	p.Sites = append(p.Sites, site)
}

// calledFrom returns the site at a caller of the function whose body is given.
func (s Site) calledFrom(f file, caller elffile.Caller) Site {
	s = s.at(caller.Site)
	f.place(&s)
	s.Role, s.Required = abi.RoleCaller, false
	if !caller.Jump {
		s.StackWords = -1 // the call pushes where to return to
	}
	return s
}

// tracepointFunctions are the functions of all tracepoints that are not initialization events.
var tracepointFunctions = sync.OnceValue(func() []string {
	functions := make(map[string]bool)
	for _, entry := range catalogue {
		for _, source := range entry.Sources {
			if source.Provenance == FromTracepoint && !entry.Event.IsInit() {
				functions[source.Symbol] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(functions))
})
