// Package ctftest reads traces in tests, by their own metadata, and finds what is wrong with them.
package ctftest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Event is an event of a trace.
type Event struct {
	// At is in nanoseconds of Unix time.
	At       int64
	CPU      uint32
	Name     string
	PID, TID int32
	Process  string
	// Fields are integers in decimal, texts, and arrays in hexadecimal, by the names of the fields.
	Fields map[string]string
	// Order are the names of the fields, in their order.
	Order []string
}

// String writes the event as "name field=value ...".
func (e *Event) String() string {
	var b strings.Builder
	b.WriteString(e.Name)
	for _, name := range e.Order {
		fmt.Fprintf(&b, " %s=%s", name, e.Fields[name])
	}
	return b.String()
}

// Trace is a trace that was read.
type Trace struct {
	Metadata string
	// Events are in the order of time, those of one CPU and time in that of their stream.
	Events []Event
	// Discarded is how many events the streams say were lost.
	Discarded uint64
}

// declaration is what metadata says of an event.
type declaration struct {
	name   string
	fields [][3]string // type, name, length of an array
}

var (
	eventPattern = regexp.MustCompile(`event \{\n\tname = "(.*)";\n\tid = (\d+);\n\tstream_id = 0;\n\tfields := struct \{\n((?:.*;\n)*?)\t\};\n\};`)
	fieldPattern = regexp.MustCompile(`\t\t(\w+) _(\w+)(?:\[(\d+)\])?;\n`)
	uuidPattern  = regexp.MustCompile(`uuid = "([0-9a-f-]+)";`)
)

// Read reads the trace in a directory. It fails for what readers would refuse: streams whose time runs backwards,
// packets of other sizes than they say, events that metadata does not tell of.
func Read(dir string) (*Trace, error) {
	metadata, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		return nil, err
	}
	t := &Trace{Metadata: string(metadata)}
	declared := make(map[uint16]declaration)
	for _, match := range eventPattern.FindAllStringSubmatch(t.Metadata, -1) {
		id, err := strconv.ParseUint(match[2], 10, 16)
		if err != nil {
			return nil, err
		}
		of := declaration{name: match[1]}
		for _, field := range fieldPattern.FindAllStringSubmatch(match[3], -1) {
			of.fields = append(of.fields, [3]string(field[1:]))
		}
		declared[uint16(id)] = of
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if filepath.Base(file) == "metadata" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := &stream{trace: t, declared: declared}
		if err := s.read(content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t.Discarded += s.discarded
	}
	slices.SortStableFunc(t.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return t, nil
}

// stream is a file that is read.
type stream struct {
	trace     *Trace
	declared  map[uint16]declaration
	last      uint64
	discarded uint64
}

type packetHeader struct {
	Magic    uint32
	UUID     [16]byte
	StreamID uint32
	// Begin to CPU are the packet's context.
	Begin, End, ContentBits, PacketBits, Discarded uint64
	CPU                                            uint32
}

func (s *stream) read(content []byte) error {
	for len(content) > 0 {
		var header packetHeader
		n, err := binary.Decode(content, binary.LittleEndian, &header)
		if err != nil {
			return err
		}
		uuid := strings.ReplaceAll(uuidPattern.FindStringSubmatch(s.trace.Metadata)[1], "-", "")
		switch {
		case header.Magic != 0xc1fc1fc1 || header.StreamID != 0 || fmt.Sprintf("%x", header.UUID) != uuid:
			return fmt.Errorf("no packet of this trace: %+v", header)
		case header.PacketBits%8 != 0 || header.PacketBits/8 > uint64(len(content)) || header.ContentBits != header.PacketBits:
			return fmt.Errorf("a packet of %d bits in %d bytes", header.PacketBits, len(content))
		case header.Begin < s.last || header.Discarded < s.discarded:
			return fmt.Errorf("a packet that goes back: %+v", header)
		}
		s.discarded = header.Discarded
		if err := s.packet(&header, content[n:header.PacketBits/8]); err != nil {
			return err
		}
		content = content[header.PacketBits/8:]
	}
	return nil
}

func (s *stream) packet(header *packetHeader, content []byte) error {
	s.last = header.Begin
	for len(content) > 0 {
		var of struct {
			ID       uint16
			At       uint64
			PID, TID int32
			Process  [17]byte
		}
		n, err := binary.Decode(content, binary.LittleEndian, &of)
		if err != nil {
			return err
		}
		if of.At < s.last || of.At > header.End {
			return fmt.Errorf("an event at %d after %d, in a packet to %d", of.At, s.last, header.End)
		}
		s.last = of.At
		name, _, ended := strings.Cut(string(of.Process[:]), "\x00")
		declared, known := s.declared[of.ID]
		if !ended || !known {
			return fmt.Errorf("an event of an unknown kind %d, or a name without an end: %q", of.ID, of.Process)
		}
		e := Event{At: int64(of.At), CPU: header.CPU, Name: declared.name, PID: of.PID, TID: of.TID, Process: name, Fields: make(map[string]string)}
		if content, err = e.read(declared.fields, content[n:]); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		s.trace.Events = append(s.trace.Events, e)
	}
	return nil
}

// read reads the fields, and returns what follows them.
func (e *Event) read(fields [][3]string, content []byte) (rest []byte, err error) {
	for _, f := range fields {
		size := map[string]int{"uint8_t": 1, "int32_t": 4, "int64_t": 8, "uint64_t": 8, "address_t": 8}[f[0]]
		if f[0] == "string" {
			size = bytes.IndexByte(content, 0) + 1
		}
		if f[2] != "" {
			if size, err = strconv.Atoi(f[2]); err != nil {
				return nil, err
			}
		}
		if size <= 0 || size > len(content) {
			return nil, fmt.Errorf("no %s %s", f[0], f[1])
		}
		var text string
		switch part := content[:size]; {
		case f[2] != "":
			text = fmt.Sprintf("%x", part)
		case f[0] == "string":
			text = string(part[:size-1])
		case f[0] == "int32_t":
			text = strconv.Itoa(int(int32(binary.LittleEndian.Uint32(part))))
		case f[0] == "int64_t":
			text = strconv.FormatInt(int64(binary.LittleEndian.Uint64(part)), 10)
		default:
			text = strconv.FormatUint(binary.LittleEndian.Uint64(part), 10)
		}
		e.Fields[f[1]], e.Order = text, append(e.Order, f[1])
		content = content[size:]
	}
	return content, nil
}
