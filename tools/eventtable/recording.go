package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// recording is a dataset of programs of one distribution with one RMW implementation.
type recording struct {
	distro, rmw string
	late        bool
	tables      map[string][]record
}

// record is a row of a dataset: its values by column, nil for null.
type record map[string]any

// text returns a column that holds text, "" if it is null.
func (r record) text(column string) string { return fmt.Sprint(orEmpty(r[column])) }

func orEmpty(value any) any {
	if value == nil {
		return ""
	}
	return value
}

func (r record) has(column string) bool { return r[column] != nil }

var errName = errors.New("its name is not DISTRIBUTION-RMW-launched or DISTRIBUTION-RMW-late")

func readRecording(ctx context.Context, directory string) (*recording, error) {
	parts := strings.Split(filepath.Base(directory), "-")
	if len(parts) != 3 || parts[2] != "launched" && parts[2] != "late" {
		return nil, errName
	}
	dataset, err := trace.Open(directory)
	if err != nil {
		return nil, err
	}
	r := &recording{distro: parts[0], rmw: parts[1], late: parts[2] == "late", tables: map[string][]record{}}
	for table, read := range map[string]func(context.Context, *trace.Dataset, string) ([]record, error){
		trace.TableCallback:              readTable[trace.Callback],
		trace.TablePublish:               readTable[trace.Publish],
		trace.TableTake:                  readTable[trace.Take],
		trace.TableEnqueue:               readTable[trace.Enqueue],
		trace.TableService:               readTable[trace.Service],
		trace.TableLifecycle:             readTable[trace.Lifecycle],
		trace.TableSimTime:               readTable[trace.SimTime],
		trace.TableNode:                  readTable[trace.Node],
		trace.TablePublisher:             readTable[trace.Publisher],
		trace.TableSubscription:          readTable[trace.Subscription],
		trace.TableTimer:                 readTable[trace.Timer],
		trace.TableServiceServer:         readTable[trace.ServiceServer],
		trace.TableClient:                readTable[trace.Client],
		trace.TableCallbackInfo:          readTable[trace.CallbackInfo],
		trace.TableCallbackGroup:         readTable[trace.CallbackGroup],
		trace.TableExecutor:              readTable[trace.Executor],
		trace.TableContext:               readTable[trace.Context],
		trace.TableLifecycleStateMachine: readTable[trace.LifecycleStateMachine],
		trace.TableProcess:               readTable[trace.Process],
	} {
		if r.tables[table], err = read(ctx, dataset, table); err != nil {
			return nil, err
		}
		if identity := identities[table]; identity != nil {
			r.tables[table] = latest(r.tables[table], identity)
		}
	}
	return r, nil
}

func readTable[T any](ctx context.Context, dataset *trace.Dataset, table string) ([]record, error) {
	var records []record
	err := trace.Scan(ctx, dataset, table, func(rows []T) error {
		for _, row := range rows {
			r := record{}
			addColumns(r, reflect.ValueOf(row))
			records = append(records, r)
		}
		return nil
	})
	return records, err
}

// addColumns puts the fields of a row into a record. What is null in a row is the zero value of its type where the
// column may be null.
func addColumns(r record, row reflect.Value) {
	for i := range row.NumField() {
		field, value := row.Type().Field(i), row.Field(i)
		if field.Anonymous {
			addColumns(r, value)
			continue
		}
		column, options, _ := strings.Cut(field.Tag.Get("column"), ",")
		if value.Kind() == reflect.Struct { // an Optional
			if value.FieldByName("Valid").Bool() {
				r[column] = value.FieldByName("Value").Interface()
			}
			continue
		}
		if !value.IsZero() || !strings.Contains(options, "null") {
			r[column] = value.Interface()
		}
	}
}

// identities are the columns, besides the process and the time of the init event, by which rows of a table of entities
// are about the same.
var identities = map[string][]string{
	trace.TableNode:                  {"node_handle"},
	trace.TablePublisher:             {"publisher_handle"},
	trace.TableSubscription:          {"subscription_handle", "rmw_subscription_handle", "subscription"},
	trace.TableTimer:                 {"timer_handle"},
	trace.TableServiceServer:         {"service_handle"},
	trace.TableClient:                {"client_handle"},
	trace.TableCallbackInfo:          {"callback"},
	trace.TableCallbackGroup:         {"callback_group"},
	trace.TableExecutor:              {"executor"},
	trace.TableContext:               {"context_handle"},
	trace.TableLifecycleStateMachine: {"state_machine"},
	trace.TableProcess:               {"pid"},
}

// latest returns the rows that count: of those about one entity the last.
func latest(records []record, identity []string) []record {
	last := map[string]int{}
	var kept []record
	for _, r := range records {
		key := fmt.Sprint(r["pid"], r["process_start"], r["init_timestamp"])
		for _, column := range identity {
			key += fmt.Sprint(" ", r[column])
		}
		if at, known := last[key]; known {
			kept[at] = r
			continue
		}
		last[key] = len(kept)
		kept = append(kept, r)
	}
	return kept
}
