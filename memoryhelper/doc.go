// Package memoryhelper reads the memory of processes in a process of its own.
//
// A page of a process may be one that a program answers for (FUSE), and that never comes. Who reads it waits in the
// kernel and cannot be killed. That a page is in RAM is asked for before, but it may be another one when it is read.
// So whoever is not trusted is read by the helper, which nobody has to wait for: it holds nothing but a socket and the
// buffer that it reads into.
//
// The helper is the same program, begun under another name. A program that imports this package is one as soon as it
// is begun so, whatever else it does.
package memoryhelper
