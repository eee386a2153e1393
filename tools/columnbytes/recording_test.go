package main

import "testing"

func TestRecordersAreComparedByTheirCallbacks(t *testing.T) {
	own := recording{bytes: 1_000, callbacks: 100}
	for text, want := range map[string]float64{
		"same,1000,100":          1,
		"larger,6000,100":        6,
		"twice as long,2000,200": 1,
		"LTTng,1500,50":          3,
	} {
		other, err := parseRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := other.times(own); got != want {
			t.Errorf("%s: %v times as many bytes, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "LTTng,1500", "LTTng,many,50", "LTTng,1500,few", "LTTng,1500,0"} {
		if _, err := parseRecording(text); err == nil {
			t.Errorf("%q was taken for a recording", text)
		}
	}
}
