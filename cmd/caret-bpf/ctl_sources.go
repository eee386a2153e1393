package main

import "github.com/caret-bpf/caret-bpf/control"

func ctlSourcesCommand() command {
	return withWideFlag(ctlRequestCommand("sources", "list the processes that could be recorded, and what of them", (*control.Client).Sources, (*ctlFlags).printSources))
}

func (f *ctlFlags) printSources(w *output, all []control.Source) error {
	if f.json {
		return printJSON(w, control.Sources{Sources: all})
	}
	printSources(w, all)
	return nil
}
