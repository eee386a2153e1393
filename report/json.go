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
		text, err := s.columns[i].json(row)
		if err != nil {
			return err
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

// json is the column's value as JSON.
func (c *column) json(row reflect.Value) ([]byte, error) {
	value, ok := c.of(row)
	if !ok {
		return []byte("null"), nil
	}
	text, err := json.Marshal(value.Interface())
	return printableJSON(text), err
}

// JSONRows are rows for a JSON document that has the names of the columns once.
type JSONRows struct {
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
}

// NewJSONRows returns rows of type T with the names and the values that the format JSON has. It fails for a type that
// has no columns.
func NewJSONRows[T any](rows []T) (*JSONRows, error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	j := &JSONRows{Rows: make([][]json.RawMessage, len(rows))}
	for _, c := range columns {
		j.Columns = append(j.Columns, c.name)
	}
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		j.Rows[i] = make([]json.RawMessage, len(columns))
		for k := range columns {
			if j.Rows[i][k], err = columns[k].json(row); err != nil {
				return nil, err
			}
		}
	}
	return j, nil
}
