package busy

import (
	"os"
	"testing"
)

func TestPaceIsWhereTheProcessIs(t *testing.T) {
	p := NewPace()
	for range 3 {
		taken, err := p.Where(int32(os.Getpid()))
		if err != nil || taken <= 0 || taken < p.Fastest {
			t.Fatalf("%v, at best %v: %v", taken, p.Fastest, err)
		}
	}
	if _, err := p.Where(-1); err == nil {
		t.Error("no such process, and no error")
	}
}
