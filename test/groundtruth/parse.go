package groundtruth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by every error about the contents of a ground-truth file.
var ErrFormat = errors.New("malformed ground truth")

// supportedVersion is the version of the format, as in the header.
const supportedVersion = 1

// ParseFile reads a ground-truth file.
func ParseFile(path string) (*Truth, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	truth, err := Parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return truth, nil
}

// Parse reads what one process wrote. A file without a header or with fields this package does not know
// is an error; an unfinished last line, as a killed process leaves it, is ignored.
func Parse(reader io.Reader) (*Truth, error) {
	truth := new(Truth)
	lines := parsersOf(truth)
	lineReader := bufio.NewReader(reader)
	for number := 1; ; number++ {
		line, err := lineReader.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		parse, known := lines[fields[0]]
		if !known {
			return nil, fmt.Errorf("%w: line %d: unknown record %q", ErrFormat, number, fields[0])
		}
		if err := parse(fields[1:]); err != nil {
			return nil, fmt.Errorf("%w: line %d: %s: %w", ErrFormat, number, fields[0], err)
		}
	}
	if truth.Header.Version != supportedVersion {
		return nil, fmt.Errorf("%w: version %d", ErrFormat, truth.Header.Version)
	}
	return truth, nil
}

// parsersOf returns what parses each kind of line into the truth, by the `line` tags of its fields.
func parsersOf(truth *Truth) map[string]func(fields []string) error {
	parsers := make(map[string]func([]string) error)
	all := reflect.ValueOf(truth).Elem()
	for i := range all.NumField() {
		into, line := all.Field(i), all.Type().Field(i).Tag.Get("line")
		if into.Kind() != reflect.Slice {
			parsers[line] = parserOf(into.Type(), into.Set)
			continue
		}
		parsers[line] = parserOf(into.Type().Elem(), func(record reflect.Value) { into.Set(reflect.Append(into, record)) })
	}
	return parsers
}

// parserOf returns a parser of key=value fields that hands each record to a function.
func parserOf(record reflect.Type, use func(reflect.Value)) func(fields []string) error {
	setters := settersOf(record)
	return func(fields []string) error {
		value := reflect.New(record).Elem()
		for _, field := range fields {
			key, text, _ := strings.Cut(field, "=")
			set, known := setters[key]
			if !known {
				return fmt.Errorf("unknown field %q", key)
			}
			if err := set(value, text); err != nil {
				return fmt.Errorf("field %q: %w", key, err)
			}
		}
		use(value)
		return nil
	}
}

type setter func(record reflect.Value, text string) error

// settersOf maps the keys in a record type's `field` tags to what stores their values. A Bracket has two
// keys.
func settersOf(record reflect.Type) map[string]setter {
	setters := make(map[string]setter)
	for i := range record.NumField() {
		field := record.Field(i)
		keys := strings.Split(field.Tag.Get("field"), ",")
		if field.Type != reflect.TypeFor[Bracket]() {
			setters[keys[0]] = func(record reflect.Value, text string) error {
				return setValue(record.Field(i), text)
			}
			continue
		}
		for half, key := range keys {
			setters[key] = func(record reflect.Value, text string) error {
				return setValue(record.Field(i).Field(half), text)
			}
		}
	}
	return setters
}

func setValue(target reflect.Value, text string) error {
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
	case reflect.Bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		target.SetBool(value)
	case reflect.Uint64:
		value, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return err
		}
		target.SetUint(value)
	default:
		value, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return err
		}
		target.SetInt(value)
	}
	return nil
}
