package main

// exportCommand is the group of what writes recordings for other programs.
func exportCommand() command {
	return command{
		name: "export", arguments: "perfetto|ctf DATASET -o FILE [flags]",
		summary: "write a recording for other programs: for Perfetto, caret_analyze, Trace Compass",
		examples: []string{
			"caret-bpf export perfetto rec -o trace.pftrace",
			"caret-bpf export perfetto rec -o trace.pftrace --last 10s --node '/sensing/.*'",
			"caret-bpf export ctf rec -o trace/ctf",
		},
		subcommands: []command{exportPerfettoCommand(), exportCTFCommand()},
	}
}
