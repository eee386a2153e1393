package simulation

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

const (
	// systemsVariable says how many systems are tried, seedVariable names the first one.
	systemsVariable = "CARET_BPF_SYSTEMS"
	seedVariable    = "CARET_BPF_SYSTEM_SEED"
)

// number reads an environment variable.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestQueriesTellWhatHappened: of random systems every answer has the rows that it must have, and no others, also where
// it is read in many windows.
func TestQueriesTellWhatHappened(t *testing.T) {
	first := number(t, seedVariable, 1)
	for seed := first; seed < first+number(t, systemsVariable, 20); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := New(seed)
			s.Run()
			datasets, err := s.Write(t.TempDir(), 16)
			if err != nil {
				t.Fatal(err)
			}
			for _, rows := range []int{0, 100} {
				differences, err := s.Differences(t.Context(), datasets, rows)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range differences {
					t.Errorf("windows of %d rows: %v\nalone: %s=%d %s=1 go test ./test/simulation", rows, d, seedVariable, seed, systemsVariable)
				}
			}
		})
	}
}
