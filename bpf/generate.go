// Package bpf holds the kernel side of caret-bpf: the C sources, and the compiled objects with their
// bindings for amd64 and arm64, which are committed so that building needs no clang.
package bpf

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -tags linux -target amd64,arm64 -no-global-types -type event -type ring_operation Caret src/caret.bpf.c -- -O2 -g -Wall -Wextra -Wpadded -Werror -Wno-unused-parameter -Wno-missing-declarations
//go:generate sh -c "go run ./instructioncount caret_x86_bpfel.o caret_arm64_bpfel.o >instructions.txt"
