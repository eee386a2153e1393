package forward

import (
	"encoding/json"
	"testing"
	"time"
)

// TestBackoff doubles up to a bound, and leaves out at most a half.
func TestBackoff(t *testing.T) {
	b := backoff{first: time.Second, most: 10 * time.Second}
	for _, test := range []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{1, 0, time.Second}, {2, 0, 2 * time.Second}, {3, 0, 4 * time.Second}, {4, 0, 8 * time.Second}, {5, 0, 10 * time.Second}, {1 << 40, 0, 10 * time.Second},
		{1, 1, time.Second / 2}, {3, 0.5, 3 * time.Second}, {1 << 40, 1, 5 * time.Second},
	} {
		if got := b.after(test.failures, test.random); got != test.want {
			t.Errorf("after %d failures, %v: %v, want %v", test.failures, test.random, got, test.want)
		}
	}
}

// FuzzNote: whatever stands in a note, what is believed of it is a note.
func FuzzNote(f *testing.F) {
	whole, err := json.Marshal(note{Dataset: "rec", Stamp: "00", To: "s3://fleet", Arrived: time.Unix(1_700_000_000, 0).UTC(), Rows: 1, Bytes: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"dataset": "rec", "session_sha256": "00", "rows": -1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, ok := decodeNote(text)
		if !ok {
			return
		}
		again, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err) // a time that cannot be written, say
		}
		if read, ok := decodeNote(again); !ok || read.Dataset != n.Dataset || read.Stamp != n.Stamp || !read.Arrived.Equal(n.Arrived) {
			t.Errorf("%q is read as %+v, and then as %+v", text, n, read)
		}
	})
}
