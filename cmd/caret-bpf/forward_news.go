package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/caret-bpf/caret-bpf/forward"
)

// forwardArgument makes the program a forwarder that tells its recorder what happens, and ends with it.
const forwardArgument = "__forward"

// forwardNews is what a forwarder tells its recorder by its standard output, a line of JSON each.
type forwardNews struct {
	Status  *forward.Status `json:"status,omitempty"`
	Message string          `json:"message,omitempty"`
	// Delete and Stamp are of a dataset that has arrived and is to be deleted. The recorder has the right to do so.
	Delete string `json:"delete,omitempty"`
	Stamp  string `json:"stamp,omitempty"`
}

// tellRecorder has what happens told to the recorder.
func tellRecorder(out io.Writer, options *forward.Options) {
	var mu sync.Mutex
	tell := func(news forwardNews) {
		line, err := json.Marshal(news)
		if err != nil {
			return // it has nothing that cannot be encoded
		}
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.Write(append(line, '\n')) // a recorder that has ended hears nothing, and ends this process
	}
	options.Tell = func(now forward.Status) { tell(forwardNews{Status: &now}) }
	options.Message = func(text string) { tell(forwardNews{Message: text}) }
	options.Delete = func(name, stamp string) error {
		tell(forwardNews{Delete: name, Stamp: stamp})
		return forward.ErrLeft
	}
}
