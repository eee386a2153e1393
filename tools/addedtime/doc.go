// Command addedtime measures the processor time that recording adds to a thread for each callback and for each publish:
// with caret-bpf, with the same probes at function entries, with empty programs (what no recorder of that kind can
// undercut), with bpftrace and with LTTng. All ways are measured in turn on the same running process, each beside the
// process when it is not traced. scripts/bench-added.sh builds what it runs.
package main
