// Command synthetic writes a dataset of a made-up system: 16 chains of four nodes, from a sensor's timer to a control
// node.
//
// usage: synthetic CALLBACKS DIRECTORY
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: synthetic CALLBACKS DIRECTORY")
		os.Exit(2)
	}
	callbacks, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = write(callbacks, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "synthetic:", err)
		os.Exit(1)
	}
}

func write(callbacks int, dir string) error {
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		return err
	}
	session := trace.NewSession()
	session.Host.Name = "synthetic"
	session.Ending = trace.EndingDuration
	session.Enter(trace.StateStopped, time.Now())
	entities, err := tracetest.System(callbacks, w.Write)
	if err == nil {
		err = errors.Join(w.Write(entities), w.WriteSession(session))
	}
	return errors.Join(err, w.Close())
}
