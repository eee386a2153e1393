package main

import (
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
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

// mostInstructions bounds what a hit runs through: a program that has more carries handlers of other events.
const mostInstructions = 1350

func TestProgramsHandleOneEvent(t *testing.T) {
	for _, object := range []string{"../caret_x86_bpfel.o", "../caret_arm64_bpfel.o"} {
		spec, err := ebpf.LoadCollectionSpec(object)
		if err != nil {
			t.Fatal(err)
		}
		for name, program := range spec.Programs {
			if name != "run_event" && len(program.Instructions) >= mostInstructions {
				t.Errorf("%s: %s has %d instructions, want fewer than %d", object, name, len(program.Instructions), mostInstructions)
			}
		}
	}
}
