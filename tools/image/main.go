// Command image writes the container image of caret-bpf: a tar of an OCI image layout, for each architecture that it is
// given a static binary of. The same binaries, texts and time give the same bytes.
//
// usage: SOURCE_DATE_EPOCH=SECONDS image -version VERSION -revision COMMIT -o FILE ARCHITECTURE=BINARY...
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "what the image's label and tag say")
	revision := flag.String("revision", "", "the commit, for a label")
	output := flag.String("o", "", "the archive to write")
	flag.Parse()
	if err := run(*output, *version, *revision, os.Getenv("SOURCE_DATE_EPOCH"), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(output, version, revision, epoch string, arguments []string) error {
	if output == "" || version == "" || revision == "" || len(arguments) == 0 {
		return errors.New("-version, -revision, -o and at least one ARCHITECTURE=BINARY are needed")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	about := description{version: version, revision: revision, created: time.Unix(seconds, 0).UTC()}
	var programs []program
	for _, argument := range arguments {
		architecture, path, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("%s is not ARCHITECTURE=BINARY", argument)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		programs = append(programs, program{architecture: architecture, content: content})
	}
	index, err := makeIndex(about, programs)
	if err != nil {
		return err
	}
	return writeArchive(output, index, about)
}
