// Command comparelttng compares what LTTng and caret-bpf recorded of the same programs at the same time: every
// tracepoint hit that both record must be in both, in the same order on its thread, with the same arguments.
// scripts/compare-lttng.sh makes the two recordings.
package main
