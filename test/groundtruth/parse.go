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
	lines := map[string]func([]string) error{
		"header":                       into(func(header Header) { truth.Header = header }),
		"node":                         appendTo(&truth.Nodes),
		"publisher":                    appendTo(&truth.Publishers),
		"subscription":                 appendTo(&truth.Subscriptions),
		"timer":                        appendTo(&truth.Timers),
		"service":                      appendTo(&truth.Services),
		"client":                       appendTo(&truth.Clients),
		"entity_init":                  appendTo(&truth.EntityInits),
		"entity_fini":                  appendTo(&truth.EntityFinis),
		"construct_ring_buffer":        appendTo(&truth.ConstructRingBuffers),
		"buffer_to_ipb":                appendTo(&truth.BufferToIPBs),
		"ipb_to_subscription":          appendTo(&truth.IPBToSubscriptions),
		"rmw_publisher_init":           appendTo(&truth.RMWPublisherInits),
		"rmw_subscription_init":        appendTo(&truth.RMWSubscriptionInits),
		"callback_group":               appendTo(&truth.CallbackGroups),
		"construct_executor":           appendTo(&truth.ConstructExecutors),
		"destroy_executor":             appendTo(&truth.DestroyExecutors),
		"add_callback_group":           appendTo(&truth.AddCallbackGroups),
		"callback_group_add":           appendTo(&truth.CallbackGroupAdds),
		"callback":                     appendTo(&truth.Callbacks),
		"publish":                      appendTo(&truth.Publishes),
		"take":                         appendTo(&truth.Takes),
		"enqueue":                      appendTo(&truth.Enqueues),
		"dequeue":                      appendTo(&truth.Dequeues),
		"intra_publish":                appendTo(&truth.IntraPublishes),
		"lifecycle_state_machine_init": appendTo(&truth.LifecycleStateMachineInits),
		"lifecycle_transition":         appendTo(&truth.LifecycleTransitions),
		"sim_time":                     appendTo(&truth.SimTimes),
		"raw_publish":                  appendTo(&truth.RawPublishes),
		"raw_take":                     appendTo(&truth.RawTakes),
		"service_step":                 appendTo(&truth.ServiceSteps),
		"thread_exit":                  appendTo(&truth.ThreadExits),
	}
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

func appendTo[Record any](records *[]Record) func([]string) error {
	return into(func(record Record) { *records = append(*records, record) })
}

// into returns a parser of key=value fields that hands each record to a function.
func into[Record any](use func(Record)) func([]string) error {
	setters := settersOf(reflect.TypeFor[Record]())
	return func(fields []string) error {
		var record Record
		value := reflect.ValueOf(&record).Elem()
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
		use(record)
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
