// Package elffile answers questions about ELF files that caret-bpf attaches to: where a symbol is, what its
// file offset is, which PLT entry calls which function, where an instruction starts.
//
// The files belong to traced programs, so every byte is outside input: all reads are bounded, sizes that the
// file claims are checked before memory is taken, and a malformed file is an error and never a panic.
// Only 64-bit little-endian files are read (x86-64 and aarch64).
//
// A File may be used by several goroutines at once.
package elffile
