// Package tracers runs the tracers that this project is compared with, LTTng and bpftrace, beside a recording of the
// same processes.
package tracers
