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
	for _, table := range trace.Registry() {
		rows := new(trace.Batch)
		if err := table.Read(ctx, dataset, rows); err != nil {
			return nil, err
		}
		r.tables[table.Name] = records(rows.Of(table))
		if identity := identities[table.Name]; identity != nil {
			r.tables[table.Name] = latest(r.tables[table.Name], identity)
		}
	}
	return r, nil
}

func records(rows trace.AnyRows) []record {
	records := make([]record, rows.Len())
	for i := range records {
		records[i] = record{}
		addColumns(records[i], reflect.ValueOf(rows).Elem().Index(i))
	}
	return records
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
