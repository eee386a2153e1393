package main

// exportCommand is the group of what writes recordings for other programs.
func exportCommand() command {
	return command{
		name: "export", arguments: "perfetto DATASET -o FILE [flags]",
		summary: "write a recording for another program: a trace for Perfetto's viewer",
		examples: []string{
			"caret-bpf export perfetto rec -o trace.pftrace",
			"caret-bpf export perfetto rec -o trace.pftrace --last 10s --node '/sensing/.*'",
		},
		subcommands: []command{exportPerfettoCommand()},
	}
}
