package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

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
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	findings := evaluate(recordings)
	written, err := replaceGenerated(text, findings.markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.WriteFile(filepath.Clean(page), written, 0o644); err != nil {
		return err
	}
	return findings.unexplained()
}

// The generated part of the page lies between these lines.
const (
	beginMarker = "<!-- begin: written by scripts/event-table.sh -->\n"
	endMarker   = "<!-- end -->\n"
)

var errNoMarkers = errors.New("it has no place for the table")

func replaceGenerated(page, generated []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(beginMarker))
	if !ok {
		return nil, errNoMarkers
	}
	_, after, ok := bytes.Cut(rest, []byte(endMarker))
	if !ok {
		return nil, errNoMarkers
	}
	return bytes.Join([][]byte{before, []byte(beginMarker), generated, []byte(endMarker), after}, nil), nil
}
