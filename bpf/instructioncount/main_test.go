package main

import (
	"os"
	"strings"
	"testing"
)

// TestCommittedCountsAreThoseOfTheObjects holds the number of instructions of every program: it does not grow unseen.
func TestCommittedCountsAreThoseOfTheObjects(t *testing.T) {
	committed, err := os.ReadFile("../instructions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var counted strings.Builder
	if err := list(&counted, []string{"../caret_x86_bpfel.o", "../caret_arm64_bpfel.o"}); err != nil {
		t.Fatal(err)
	}
	if counted.String() != string(committed) {
		t.Errorf("bpf/instructions.txt is not current: run 'make generate' and look at what a change of the programs costs.\ncounted:\n%s\ncommitted:\n%s", &counted, committed)
	}
}
