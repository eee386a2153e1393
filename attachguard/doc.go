// Package attachguard ends what would make attaching wait for ever.
//
// Who attaches a uprobe to a file, or detaches it, waits in the kernel for the memory map of every process that maps
// the file, and cannot be killed meanwhile (register_for_each_vma, kernel/events/uprobes.c, Linux 3.5 to 6.18). As long
// as he waits, no process of the machine can fork. A process keeps its map locked while it reads a page of a file whose
// file system a program answers for (FUSE) after a first attempt that failed. So any user who may map a library can
// stop the machine as soon as somebody attaches to it; and so can one whose process only forks while its map is locked.
//
// The kernel has no call that attaches without waiting for strangers. So a guard looks on, in a process of its own: it
// ends the connection to the program that does not answer. The kernel then answers in its place, with an error. The
// guard also does so when the recorder was killed and the kernel detaches.
package attachguard
