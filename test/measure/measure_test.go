package measure

import (
	"os"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []int
		want   int
	}{{[]int{7}, 7}, {[]int{9, 1, 5}, 5}, {[]int{4, 1, 3, 2}, 3}} {
		if got := Median(test.values); got != test.want {
			t.Errorf("%v: %d, want %d", test.values, got, test.want)
		}
	}
}

// TestProcessorTime: a process that works has used more afterwards, and no more than its processors gave it.
func TestProcessorTime(t *testing.T) {
	before, err := ProcessorTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
	}
	if after, err := ProcessorTime(os.Getpid()); err != nil || after <= before {
		t.Errorf("%v, then %v: %v", before, after, err)
	}
	if _, err := ProcessorTime(1 << 22); err == nil {
		t.Error("a process that is not there has a time")
	}
}
