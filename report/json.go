package report

import (
	"bufio"
	"encoding/json"
	"io"
	"reflect"
)

// WriteJSON writes a value as indented JSON. Characters that could steer a terminal are escaped.
func WriteJSON(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(printableJSON(text), '\n'))
	return err
}

// jsonSink writes an array with an object a row.
type jsonSink struct {
	out     *bufio.Writer
	columns []column
	names   [][]byte // "name":
	rows    int
}

func newJSONSink(w io.Writer, columns []column) *jsonSink {
	s := &jsonSink{out: bufio.NewWriter(w), columns: columns}
	for _, c := range columns {
		name, _ := json.Marshal(c.name) // a string can always be encoded
		s.names = append(s.names, append(name, ": "...))
	}
	return s
}

func (s *jsonSink) write(row reflect.Value) error {
	separator := ",\n  {"
	if s.rows == 0 {
		separator = "[\n  {"
	}
	s.rows++
	_, _ = s.out.WriteString(separator)
	for i := range s.columns {
		if i > 0 {
			_, _ = s.out.WriteString(", ")
		}
		_, _ = s.out.Write(s.names[i])
		text := []byte("null")
		if value, ok := s.columns[i].of(row); ok {
			var err error
			if text, err = json.Marshal(value.Interface()); err != nil {
				return err
			}
			text = printableJSON(text)
		}
		_, _ = s.out.Write(text)
	}
	return s.out.WriteByte('}')
}

func (s *jsonSink) close() error {
	end := "\n]\n"
	if s.rows == 0 {
		end = "[]\n"
	}
	_, _ = s.out.WriteString(end)
	return s.out.Flush()
}

func (s *jsonSink) discard() error { return s.out.Flush() }
