// Package loader puts a plan of probes into the kernel and takes the records out.
//
// It finds out what the kernel can do (Probe), loads the BPF programs with the recording's settings (New), attaches the
// sites of a plan (Loader.Attach), opens and closes the recording with one store (Loader.OpenGate, Loader.CloseGate),
// hands the kernel's records on in batches (Loader.Read) and says what was lost (Loader.Losses).
//
// Sites are attached in one of two ways. Kernels from 6.6 on have uprobe_multi: one link holds all sites of a file for
// one program and one process. Older kernels get trace events in tracefs, one for all sites with the same program and
// cookie, and one perf event each: a perf event for every single site would take minutes to detach.
//
// A recording ends in this order, any other loses or doubles its last records:
//
//	CloseGate → Detach → Threads → Flush → Read returns → Losses → Close
package loader
