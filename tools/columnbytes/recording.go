package main

import (
	"fmt"
	"strconv"
	"strings"
)

// recording is what a recorder wrote: recorders that begin and end at other moments are compared by their callbacks.
type recording struct {
	who              string
	bytes, callbacks int64
}

// parseRecording reads WHO,BYTES,CALLBACKS.
func parseRecording(text string) (recording, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return recording{}, fmt.Errorf("%q is not WHO,BYTES,CALLBACKS", text)
	}
	bytes, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return recording{}, err
	}
	callbacks, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return recording{}, err
	}
	if callbacks < 1 {
		return recording{}, fmt.Errorf("%s has recorded no callback", fields[0])
	}
	return recording{who: fields[0], bytes: bytes, callbacks: callbacks}, nil
}

// times is how many bytes the recorder wrote for each of another one's, of the same programs.
func (r recording) times(other recording) float64 {
	return float64(r.bytes) / float64(r.callbacks) * float64(other.callbacks) / float64(other.bytes)
}
