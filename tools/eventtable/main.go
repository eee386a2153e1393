package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/caret-bpf/caret-bpf/docs"
)

// block is the part of the page that this program writes.
const block = "event-table"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: eventtable PAGE RECORDING...\n  a RECORDING is named DISTRIBUTION-RMW-launched or DISTRIBUTION-RMW-late")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "eventtable:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, page string, directories []string) error {
	var recordings []*recording
	for _, directory := range directories {
		r, err := readRecording(ctx, directory)
		if err != nil {
			return fmt.Errorf("read %s: %w", directory, err)
		}
		recordings = append(recordings, r)
	}
	findings := evaluate(recordings)
	if err := docs.Write(page, block, findings.markdown()); err != nil {
		return err
	}
	return findings.unexplained()
}
