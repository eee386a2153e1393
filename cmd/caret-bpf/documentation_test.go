package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/docs"
)

// TestDocumentation compares what docs/recording.md says of flags and exit codes with the program. `make docs` writes
// it.
func TestDocumentation(t *testing.T) {
	for _, block := range []struct {
		name    string
		content []byte
	}{
		{"flags", flagsOfRecord()}, {"exit-codes", exitCodeTable()},
	} {
		if err := docs.Check("../../docs/recording.md", block.name, block.content); err != nil {
			t.Error(err)
		}
	}
}

func flagsOfRecord() []byte {
	flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
	flags.SortFlags = false
	recordCommand().define(flags)
	return fmt.Appendf(nil, "```\n%s```\n", flags.FlagUsagesWrapped(helpWidth))
}

func exitCodeTable() []byte {
	var table bytes.Buffer
	table.WriteString("| code | meaning |\n|---|---|\n")
	for _, exit := range exitCodes {
		fmt.Fprintf(&table, "| %d | %s |\n", exit.code, exit.meaning)
	}
	return table.Bytes()
}
