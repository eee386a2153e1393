package main

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	callbacks                = "callbacks"
	communications           = "communications"
	nodes                    = "nodes"
	paths                    = "paths"
	pathsWithCallbacks       = "paths with callbacks"
	responseTimes            = "response times"
	delays                   = "delays"
	all                      = "all"
	worst                    = "worst"
	worstWithExternalLatency = "worst_with_external_latency"
)

// variablePassing is the way of knowing contexts in which nodes have chains of several callbacks.
const variablePassing = "variable_passing"

// delayFile has the response time of each input.
const delayFile = "delay.csv"

// noLayers is the rest of a message that did not go through the middleware.
const noLayers = " "

// question is what both tools are asked.
type question struct {
	name string
	// file is the CSV file of both.
	file string
	// dependsOnContext: it is asked for each way in which contexts are known, the others once.
	dependsOnContext bool
	caret, ours      func(*reader) (row, bool)
	// join makes rows of caret-bpf's lines, if it has several lines a row.
	join func(string) ([]row, error)
}

// questions are asked in this order.
func questions() []question {
	return []question{
		{name: callbacks, file: "callback.csv", caret: caretCallback, ours: ourCallback},
		{name: communications, file: "communication.csv", caret: caretMessage, ours: ourMessage},
		{name: nodes, file: "node.csv", dependsOnContext: true, caret: caretNode, ours: ourNode},
		{name: paths, file: "path.csv", dependsOnContext: true, caret: caretPath, join: ourPaths},
		{name: pathsWithCallbacks, file: "path_with_callbacks.csv", dependsOnContext: true, caret: caretPath, join: ourPaths},
		{name: responseTimes, file: "response_time.csv", dependsOnContext: true, caret: caretResponse, join: ourResponses},
		{name: delays, file: delayFile, dependsOnContext: true, caret: caretDelay, ours: ourDelay},
	}
}

// read reads both tools' rows of a question from a folder.
func (q question) read(folder string) (caret, ours []row, err error) {
	if caret, err = collect(filepath.Join(folder, "caret", q.file), q.caret); err != nil {
		return nil, nil, err
	}
	file := filepath.Join(folder, "ours", q.file)
	if q.join != nil {
		ours, err = q.join(file)
	} else {
		ours, err = collect(file, q.ours)
	}
	return caret, ours, err
}

func collect(file string, convert func(*reader) (row, bool)) ([]row, error) {
	var rows []row
	err := readRows(file, func(r *reader) {
		if converted, ok := convert(r); ok {
			rows = append(rows, converted)
		}
	})
	return rows, err
}

func caretCallback(r *reader) (row, bool) {
	return row{of: r.column("callback_name"), begin: r.column("start"), end: r.column("end")}, true
}

// ourCallback leaves out what has no latency: caret_analyze has no rows of executions without an end.
func ourCallback(r *reader) (row, bool) {
	if r.column("latency") == "" {
		return row{}, false
	}
	return row{of: r.column("callback_name"), begin: r.column("callback_start_timestamp"), end: r.column("callback_end_timestamp")}, true
}

func caretMessage(r *reader) (row, bool) {
	return row{
		of:    edge(r.column("publisher_node"), r.column("topic"), r.column("subscription_node")),
		begin: r.column("publish"), rest: r.column("rcl_publish") + " " + r.column("rmw_publish"), end: r.column("start"),
	}, true
}

// ourMessage leaves the layers out of an intra-process message, of which caret_analyze has none.
func ourMessage(r *reader) (row, bool) {
	m := row{
		of:    edge(r.column("publisher_node_name"), r.column("topic_name"), r.column("subscription_node_name")),
		begin: r.first("rclcpp_intra_publish_timestamp", "rclcpp_publish_timestamp", "rcl_publish_timestamp"),
		rest:  noLayers, end: r.column("callback_start_timestamp"),
	}
	if r.column("transport") != "intra_process" {
		m.rest = r.column("rcl_publish_timestamp") + " " + r.column("rmw_publish_timestamp")
	}
	return m, true
}

func caretNode(r *reader) (row, bool) {
	return row{of: edge(r.column("subscription_topic"), r.column("node"), r.column("publisher_topic")), begin: r.column("start"), end: r.column("publish")}, true
}

func ourNode(r *reader) (row, bool) {
	return row{
		of:    edge(r.column("subscription_topic_name"), r.column("node_name"), r.column("publisher_topic_name")),
		begin: r.column("callback_start_timestamp"), end: r.column("publish_timestamp"),
	}, true
}

// caretPath leaves out messages that did not reach the end, of which caret-bpf has a count and no rows.
func caretPath(r *reader) (row, bool) {
	bounds := strings.Fields(r.column("bounds"))
	for _, b := range bounds {
		if b == "-" {
			return row{}, false
		}
	}
	return pathRow(r.column("path"), bounds), len(bounds) > 0
}

func pathRow(path string, bounds []string) row {
	last := len(bounds) - 1
	return row{of: path, begin: bounds[0], rest: strings.Join(bounds[1:last], " "), end: bounds[last]}
}

// ourPaths joins the lines of the hops of each way along a path.
func ourPaths(file string) ([]row, error) {
	var rows []row
	var bounds []string
	var path string
	finish := func() {
		if len(bounds) > 0 {
			rows = append(rows, pathRow(path, bounds))
		}
		bounds = nil
	}
	err := readRows(file, func(r *reader) {
		if r.column("kind") == "path" {
			finish()
			path = r.column("path")
			return
		}
		if len(bounds) == 0 {
			bounds = append(bounds, r.column("begin_timestamp"))
		}
		bounds = append(bounds, r.column("end_timestamp"))
	})
	finish()
	return rows, err
}

func caretResponse(r *reader) (row, bool) {
	return row{of: r.column("path"), rest: r.column("case"), begin: r.column("start"), end: r.column("end")}, true
}

func caretDelay(r *reader) (row, bool) {
	return row{of: r.column("path"), begin: r.column("start"), end: r.column("end")}, true
}

func ourDelay(r *reader) (row, bool) {
	return row{of: r.column("path"), begin: r.column("input_timestamp"), end: r.column("output_timestamp")}, true
}

// ourResponses makes a row of each case of each flow, and of each input, which the file beside it has.
func ourResponses(file string) ([]row, error) {
	rows, err := collect(filepath.Join(filepath.Dir(file), delayFile), func(r *reader) (row, bool) {
		input, ok := ourDelay(r)
		input.rest = all
		return input, ok
	})
	if err != nil {
		return nil, err
	}
	var invalid error
	err = readRows(file, func(r *reader) {
		end, err := strconv.ParseInt(r.column("output_timestamp"), 10, 64)
		invalid = errors.Join(invalid, err)
		for _, name := range []string{"best", worst, worstWithExternalLatency} {
			latency, err := strconv.ParseInt(r.column(name), 10, 64)
			invalid = errors.Join(invalid, err)
			rows = append(rows, row{
				of: r.column("path"), rest: name,
				begin: strconv.FormatInt(end-latency, 10), end: strconv.FormatInt(end, 10),
			})
		}
	})
	return rows, errors.Join(err, invalid)
}
