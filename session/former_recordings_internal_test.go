package session

import (
	"errors"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/former"
)

// A recording takes what is asked for, or for what the disk has room if that is less: then its own oldest rows go, and
// it need not end.
func TestRoomOfARecording(t *testing.T) {
	const gibibyte = 1 << 30
	for name, test := range map[string]struct {
		bounds former.Bounds
		kept   *former.Kept
		want   int64
	}{
		"no bound of the size":  {former.Bounds{Age: time.Hour}, &former.Kept{FreeBytes: gibibyte}, 0},
		"nothing is known":      {former.Bounds{Bytes: 20 * gibibyte}, nil, 20 * gibibyte},
		"a large disk":          {former.Bounds{Bytes: 20 * gibibyte}, &former.Kept{FreeBytes: 100 * gibibyte}, 20 * gibibyte},
		"a small disk":          {former.Bounds{Bytes: 20 * gibibyte, FreeBytes: 2 * gibibyte}, &former.Kept{FreeBytes: 10 * gibibyte}, 8*gibibyte - formerRoom},
		"others take the place": {former.Bounds{Bytes: 20 * gibibyte}, &former.Kept{FreeBytes: 10 * gibibyte, Bytes: 5 * gibibyte}, 15*gibibyte - formerRoom},
		"no room":               {former.Bounds{Bytes: 20 * gibibyte, FreeBytes: 2 * gibibyte}, &former.Kept{FreeBytes: gibibyte}, minKeepBytes},
	} {
		t.Run(name, func(t *testing.T) {
			r := &formerRecordings{bounds: test.bounds}
			r.kept.Store(test.kept)
			if got := r.room(); got != test.want {
				t.Errorf("it may have %d bytes, want %d", got, test.want)
			}
		})
	}
}

// There is hope until a look that has begun since says that there is none.
func TestHopeForRoom(t *testing.T) {
	r := &formerRecordings{asked: make(chan struct{}, 1)}
	look := func(exhausted bool) {
		r.kept.Store(&former.Kept{Exhausted: exhausted})
		r.looks.Add(1)
	}
	look(true) // long ago
	for name, step := range []struct {
		before func()
		want   bool
	}{
		{func() {}, true},
		{func() { look(true) }, true}, // it may have begun before
		{func() { look(true) }, false},
		{r.hasRoom, true},
		{func() { look(true); look(false) }, true},
		{func() {}, true}, // it waits anew
		{func() { look(false); look(true) }, false},
	} {
		step.before()
		if got := r.makeRoom(); got != step.want {
			t.Errorf("step %d: %v", name, got)
		}
	}
	if len(r.asked) == 0 {
		t.Error("nobody is asked")
	}
	if (*formerRecordings)(nil).makeRoom() {
		t.Error("there is hope where nothing may be removed")
	}
}

// What the folder keeps counts for the recording, too.
func TestTotalIsNotLessThanAPart(t *testing.T) {
	for name, test := range map[string]struct {
		configuration Configuration
		valid         bool
	}{
		"a total":            {Configuration{KeepTotalBytes: 20 << 30, KeepTotalAge: time.Hour}, true},
		"with a ring":        {Configuration{KeepTotalBytes: 20 << 30, RingAge: time.Minute}, true},
		"a part":             {Configuration{KeepTotalBytes: 20 << 30, KeepBytes: 20 << 30, KeepTotalAge: time.Hour, KeepAge: time.Hour}, true},
		"more than all":      {Configuration{KeepTotalBytes: 20 << 30, KeepBytes: 21 << 30}, false},
		"longer than all":    {Configuration{KeepTotalAge: time.Hour, KeepAge: 2 * time.Hour}, false},
		"too little":         {Configuration{KeepTotalBytes: minKeepBytes - 1}, false},
		"a negative total":   {Configuration{KeepTotalBytes: -1}, false},
		"a negative time":    {Configuration{KeepTotalAge: -1}, false},
		"a part and no time": {Configuration{KeepTotalBytes: 20 << 30, KeepAge: time.Hour}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.configuration.All, test.configuration.Output = true, "rec"
			if err := test.configuration.Check(); (err == nil) != test.valid || err != nil && !errors.Is(err, ErrConfiguration) {
				t.Errorf("%v", err)
			}
		})
	}
}
