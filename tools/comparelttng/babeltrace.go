package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

const maxLine = 16 << 20

// readLTTng reads a trace of LTTng with babeltrace2. Whatever babeltrace2 warns of, above all discarded events, is an
// error.
func readLTTng(ctx context.Context, directory string) ([]event, error) {
	command := exec.CommandContext(ctx, "babeltrace2", "--clock-cycles", "--no-delta", directory)
	var warnings bytes.Buffer
	command.Stderr = &warnings
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("babeltrace2: %w (Debian's package babeltrace2 has it)", err)
	}
	events, readError := parseBabeltrace(output)
	if readError != nil {
		_, _ = io.Copy(io.Discard, output)
	}
	if err := command.Wait(); err != nil {
		return nil, fmt.Errorf("babeltrace2 %s: %w: %s", directory, err, bytes.TrimSpace(warnings.Bytes()))
	}
	if warnings.Len() > 0 {
		return nil, fmt.Errorf("the LTTng trace is not whole: %s", bytes.TrimSpace(warnings.Bytes()))
	}
	return events, readError
}

// parseBabeltrace reads the text that babeltrace2 prints, one event a line. Events of other providers than ros2 are
// left out.
func parseBabeltrace(text io.Reader) ([]event, error) {
	var events []event
	scanner := bufio.NewScanner(text)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		if !strings.Contains(scanner.Text(), " ros2:") {
			continue
		}
		parsed, err := parseLine(scanner.Text())
		if err != nil {
			return nil, fmt.Errorf("babeltrace2: %w: %.200q", err, scanner.Text())
		}
		events = append(events, parsed)
	}
	return events, scanner.Err()
}

// lineStart is the clock's cycles, which are nanoseconds of CLOCK_MONOTONIC, perhaps the host's name, and the event's
// name.
var lineStart = regexp.MustCompile(`^\[(\d+)\] (?:[^ {]+ )?ros2:(\w+): `)

// parseLine reads a line such as
//
//	[00000002806364573755] host ros2:rcl_timer_init: { cpu_id = 0 }, { vpid = 7, vtid = 8 }, { timer_handle = 0x557B2D3957F0, period = 100 }
//
// whose groups are the packet's context, the contexts that were added to the channel, and the event's fields.
func parseLine(line string) (event, error) {
	start := lineStart.FindStringSubmatch(line)
	if start == nil {
		return event{}, errors.New("not an event")
	}
	parsed := event{name: start[2]}
	var err error
	if parsed.time, err = strconv.ParseInt(start[1], 10, 64); err != nil {
		return event{}, err
	}
	fields := fieldReader{text: line[len(start[0]):]}
	all, groups, err := fields.groups()
	if err != nil {
		return event{}, err
	}
	if groups < 2 {
		return event{}, fmt.Errorf("%d groups of fields", groups)
	}
	for _, field := range all {
		switch {
		case field.group == groups-1:
			parsed.arguments = append(parsed.arguments, field.argument)
		case field.name == "vpid":
			parsed.pid = int32(field.value)
		case field.name == "vtid":
			parsed.tid = int32(field.value)
		}
	}
	if parsed.pid == 0 || parsed.tid == 0 {
		return event{}, errors.New("no vpid or vtid: they have to be added to the LTTng session as contexts")
	}
	return parsed, nil
}

// field is a field of one of the groups of a line.
type field struct {
	argument
	group int
}

// fieldReader reads groups of fields from the text that is left.
type fieldReader struct{ text string }

var errFields = errors.New("fields are not as expected")

func (r *fieldReader) take(prefix string) bool {
	rest, found := strings.CutPrefix(r.text, prefix)
	if found {
		r.text = rest
	}
	return found
}

// groups reads "{ a = 1, b = 2 }, { c = 3 }, { }", and how many there were.
func (r *fieldReader) groups() (all []field, count int, err error) {
	for {
		if !r.take("{ ") {
			return nil, 0, errFields
		}
		for !r.take("}") {
			one, err := r.field()
			if err != nil {
				return nil, 0, err
			}
			one.group = count
			all = append(all, one)
			if !r.take(", ") && !r.take(" ") {
				return nil, 0, errFields
			}
		}
		count++
		if r.text == "" {
			return all, count, nil
		}
		if !r.take(", ") {
			return nil, 0, errFields
		}
	}
}

var fieldName = regexp.MustCompile(`^(\w+) = `)

func (r *fieldReader) field() (field, error) {
	match := fieldName.FindStringSubmatch(r.text)
	if match == nil {
		return field{}, errFields
	}
	r.text = r.text[len(match[0]):]
	one := field{argument: argument{name: match[1]}}
	switch {
	case strings.HasPrefix(r.text, `"`):
		return one, r.skipString()
	case strings.HasPrefix(r.text, "["):
		return one, r.skipArray()
	}
	end := strings.IndexAny(r.text, " ,")
	if end < 0 {
		return field{}, errFields
	}
	number := r.text[:end]
	r.text = r.text[end:]
	one.isNumber = true
	var err error
	if strings.HasPrefix(number, "-") {
		var negative int64
		negative, err = strconv.ParseInt(number, 10, 64)
		one.value = uint64(negative)
	} else {
		one.value, err = strconv.ParseUint(number, 0, 64)
	}
	return one, err
}

// quoted is a string as babeltrace2 prints it, quotes in it escaped.
var quoted = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)

func (r *fieldReader) skipString() error {
	match := quoted.FindString(r.text)
	if match == "" {
		return errFields
	}
	r.text = r.text[len(match):]
	return nil
}

// numbers is an array of numbers as babeltrace2 prints it.
var numbers = regexp.MustCompile(`^\[ (?:\[\d+\] = \w+(?:, | ))*\]`)

func (r *fieldReader) skipArray() error {
	match := numbers.FindString(r.text)
	if match == "" {
		return errFields
	}
	r.text = r.text[len(match):]
	return nil
}
