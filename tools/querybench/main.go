// Command querybench measures how long `info`, `latency path` and `diff` take on datasets of a made-up system, and
// DuckDB for the same questions on the same files, where it can be asked: medians of several runs, with the peak
// memory.
//
// usage: querybench [-runs N] CALLBACKS…
//
// It needs build/caret-bpf, build/synthetic and build/sqlrun; datasets are kept in build/bench.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// question is asked of both.
type question struct {
	name      string
	arguments []string // of caret-bpf, the dataset follows
	// twice names the dataset twice: it is compared with itself.
	twice bool
	// sql is the question to DuckDB; empty where it has no answer.
	sql string
}

const (
	from = "/chain_0/points"
	to   = "/chain_0/tracks"
)

var questions = []question{
	{"info", []string{"info"}, false, "SELECT node_name, p50 FROM callback_latency UNION ALL SELECT topic_name, publishes FROM topic_summary"},
	{"latency path", []string{"latency", "path", "--from", from, "--to", to}, false, pathSQL},
	{"diff", []string{"diff"}, true, ""},
}

// pathSQL follows a message from the publish of points through the callbacks that it leads to, the buffer included.
const pathSQL = `
WITH points AS (
  SELECT p.rclcpp_publish_timestamp AS begin, c.boot_id, c.pid, c.process_start, c.tid, c.callback, c.callback_start_timestamp
  FROM publish p JOIN callback c USING (topic_name, source_timestamp) WHERE topic_name = '/chain_0/points'
), objects AS (
  SELECT o.begin, p.boot_id, p.pid, p.process_start, p.tid, p.publish_number, p.rclcpp_intra_publish_timestamp AS published
  FROM points o JOIN publish p USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp) WHERE p.topic_name = '/chain_0/objects'
), queued AS (
  SELECT o.begin, e.boot_id, e.pid, e.process_start, e.buffer, e.index, e.enqueue_timestamp
  FROM objects o JOIN enqueue e USING (boot_id, pid, process_start, tid, publish_number)
), tracked AS (
  SELECT q.begin, c.boot_id, c.pid, c.process_start, c.tid, c.callback, c.callback_start_timestamp
  FROM callback c ASOF JOIN queued q
    ON c.boot_id = q.boot_id AND c.pid = q.pid AND c.process_start = q.process_start AND c.buffer = q.buffer AND c.dequeue_index = q.index
   AND c.dequeue_timestamp >= q.enqueue_timestamp
  WHERE c.topic_name = '/chain_0/objects'
), tracks AS (
  SELECT t.begin, p.topic_name, p.source_timestamp
  FROM tracked t JOIN publish p USING (boot_id, pid, process_start, tid, callback, callback_start_timestamp) WHERE p.topic_name = '/chain_0/tracks'
)
SELECT count(*), min(latency), avg(latency), quantile_disc(latency, [0.5, 0.9, 0.99, 0.999]), max(latency)
FROM (SELECT c.callback_start_timestamp - t.begin AS latency FROM tracks t JOIN callback c USING (topic_name, source_timestamp))`

// cost is what a run took: wall clock, processor time and peak resident memory.
type cost struct {
	wall, processor time.Duration
	bytes           int64
}

func main() {
	runs := flag.Int("runs", 5, "runs of which the median counts")
	flag.Parse()
	if err := bench(*runs, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "querybench:", err)
		os.Exit(1)
	}
}

func bench(runs int, sizes []string) error {
	if len(sizes) == 0 || runs < 1 {
		return errors.New("name the numbers of callbacks")
	}
	fmt.Printf("%-14s %12s  %28s  %28s  %s\n", "question", "callbacks", "caret-bpf: wall, CPU, peak", "DuckDB: wall, CPU, peak", "wall and peak as a share")
	for _, size := range sizes {
		if _, err := strconv.Atoi(size); err != nil {
			return err
		}
		dir := filepath.Join("build", "bench", size)
		if _, err := os.Stat(dir); err != nil {
			if err := quietly("build/synthetic", size, dir); err != nil {
				return err
			}
		}
		if err := quietly("build/caret-bpf", "sql", dir, "--write"); err != nil {
			return err
		}
		for _, q := range questions {
			arguments := append(slices.Clone(q.arguments), dir)
			if q.twice {
				arguments = append(arguments, dir)
			}
			ours, err := median(runs, "build/caret-bpf", arguments...)
			if err != nil {
				return err
			}
			if q.sql == "" {
				fmt.Printf("%-14s %12s  %28v\n", q.name, size, ours)
				continue
			}
			theirs, err := median(runs, "build/sqlrun", filepath.Join(dir, "views.sql"), q.sql)
			if err != nil {
				return err
			}
			fmt.Printf("%-14s %12s  %28v  %28v  %.2f %.2f\n", q.name, size, ours, theirs, float64(ours.wall)/float64(theirs.wall), float64(ours.bytes)/float64(theirs.bytes))
		}
	}
	return nil
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %.2f s, %d MB", c.wall.Seconds(), c.processor.Seconds(), c.bytes/1e6)
}

func quietly(name string, arguments ...string) error {
	c := exec.Command(name, arguments...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%v: %w", c.Args, err)
	}
	return nil
}

// median runs a command several times and returns the median of each cost.
func median(runs int, name string, arguments ...string) (m cost, err error) {
	var costs []cost
	for range runs {
		c := exec.Command(name, arguments...)
		c.Stderr = os.Stderr
		begin := time.Now()
		if err := c.Run(); err != nil {
			return m, fmt.Errorf("%v: %w", c.Args, err)
		}
		used := cost{wall: time.Since(begin), processor: c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			used.bytes = usage.Maxrss * 1024
		}
		costs = append(costs, used)
	}
	m.wall = middle(costs, func(c cost) time.Duration { return c.wall })
	m.processor = middle(costs, func(c cost) time.Duration { return c.processor })
	m.bytes = middle(costs, func(c cost) int64 { return c.bytes })
	return m, nil
}

func middle[V cmp.Ordered](costs []cost, of func(cost) V) V {
	var values []V
	for _, c := range costs {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
