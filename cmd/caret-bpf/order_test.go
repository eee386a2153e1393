package main

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// columnOf returns a column of an answer, in the order of the rows.
func columnOf(t *testing.T, name string, arguments ...string) (values []string) {
	t.Helper()
	code, out, problems := runCommand(append(arguments, "--csv")...)
	if code != exitSuccess {
		t.Fatalf("%v: exit code %d: %s", arguments, code, problems)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(rows[0], name)
	if i < 0 {
		t.Fatalf("no column %s in %v", name, rows[0])
	}
	for _, row := range rows[1:] {
		values = append(values, row[i])
	}
	return values
}

// numbersOf is columnOf for whole numbers; what is absent is less than all.
func numbersOf(t *testing.T, name string, arguments ...string) (numbers []int) {
	t.Helper()
	for _, text := range columnOf(t, name, arguments...) {
		number, err := strconv.Atoi(text)
		if err != nil {
			number = -1
		}
		numbers = append(numbers, number)
	}
	return numbers
}

func isDescending(numbers []int) bool {
	return slices.IsSortedFunc(numbers, func(a, b int) int { return b - a })
}

// Latencies come worst first, and in the order that is asked for.
func TestOrderOfLatencies(t *testing.T) {
	dir, _ := syntheticDataset(t)
	for _, question := range [][]string{{"latency", "callback", dir}, {"latency", "communication", dir}} {
		if got := numbersOf(t, "p99", question...); len(got) < 3 || !isDescending(got) {
			t.Errorf("%v: the p99 are %v", question, got)
		}
		if got := numbersOf(t, "count", append(question, "--sort", "count")...); !isDescending(got) {
			t.Errorf("%v by count: %v", question, got)
		}
		got := numbersOf(t, "min", append(question, "--sort", "-min")...)
		known := slices.DeleteFunc(slices.Clone(got), func(min int) bool { return min < 0 })
		if !slices.IsSorted(known) || !slices.Equal(got[:len(known)], known) {
			t.Errorf("%v by min, the other way round: %v", question, got)
		}
	}
	if got := columnOf(t, "topic_name", "latency", "communication", dir, "--sort", "topic_name"); !slices.IsSorted(got) {
		t.Errorf("by topic: %v", got)
	}
}

// The hops of a path and the callbacks of a thread stay where they belong.
func TestOrderKeepsWhatBelongsTogether(t *testing.T) {
	dir := relayDataset(t)
	question := []string{"latency", "path", dir, "--from", "/chatter", "--to", "/relayed"}
	hops := columnOf(t, "hop", question...)
	if got := columnOf(t, "hop", append(question, "--sort", "-name")...); len(hops) < 2 || !slices.Equal(got, hops) {
		t.Errorf("the hops are %v, sorted %v", hops, got)
	}
	synthetic, _ := syntheticDataset(t)
	last := ""
	seen := make(map[string]bool)
	for _, tid := range columnOf(t, "tid", "load", synthetic, "--sort", "-share") {
		if tid != last && seen[tid] {
			t.Errorf("thread %s is in several places", tid)
		}
		last, seen[tid] = tid, true
	}
}

func TestLimit(t *testing.T) {
	dir, rows := syntheticDataset(t)
	all := columnOf(t, "callback_name", "latency", "callback", dir)
	code, out, problems := runCommand("latency", "callback", dir, "--csv", "--limit", "2")
	if want := "--limit 2 leaves out " + counted(len(all)-2, "row") + "\n"; code != exitSuccess || strings.Count(out, "\n") != 3 || problems != want {
		t.Errorf("exit code %d, %q, want %q:\n%s", code, problems, want, out)
	}
	if got := columnOf(t, "callback_name", "latency", "callback", dir, "--limit", "2"); !slices.Equal(got, all[:2]) {
		t.Errorf("got %v, want the first of %v", got, all)
	}
	if _, _, problems := runCommand("latency", "callback", dir, "--limit", strconv.Itoa(len(all))); problems != "" {
		t.Errorf("of a limit that leaves out nothing it says %s", problems)
	}
	if _, _, problems := runCommand("latency", "callback", dir, "--limit", "2", "-q"); problems != "" {
		t.Errorf("--quiet says %s", problems)
	}
	_, out, problems = runCommand("latency", "callback", dir, "--series", "--csv", "--limit", "5")
	if want := counted(len(rows.Callbacks)-5, "row"); strings.Count(out, "\n") != 6 || !strings.Contains(problems, want) {
		t.Errorf("of a series it says %q, want %q:\n%s", problems, want, out)
	}
}

func TestOrderOfAPart(t *testing.T) {
	dir, _ := syntheticDataset(t)
	if got := numbersOf(t, "max_time", "info", dir, "--part", "callbacks", "--sort", "max_time", "--limit", "3"); len(got) != 3 || !isDescending(got) {
		t.Errorf("by time: %v", got)
	}
}

func TestOrderThatThereIsNot(t *testing.T) {
	dir, _ := syntheticDataset(t)
	for says, arguments := range map[string][]string{
		`no column "cout"; did you mean "count"?`:   {"latency", "callback", dir, "--sort", "cout"},
		`no column "slowest"; there are pid, `:      {"latency", "callback", dir, "--sort", "-slowest"},
		"--series is in order of time":              {"latency", "callback", dir, "--series", "--sort", "latency"},
		"--limit takes a number":                    {"latency", "callback", dir, "--limit", "-1"},
		"--sort and --limit need --part":            {"info", dir, "--limit", "3"},
		`no column "latency"; there are pid, node_`: {"info", dir, "--part", "nodes", "--sort", "latency"},
	} {
		if code, out, problems := runCommand(arguments...); code != exitUsage || out != "" || !strings.Contains(problems, says) {
			t.Errorf("%v: exit code %d, %q should be in:\n%s%s", arguments, code, says, problems, out)
		}
	}
}

// Who asks for what a recording has none of is told so, in place of a table without rows.
func TestNothingRecorded(t *testing.T) {
	dir := relayDataset(t)
	for _, test := range []struct{ flags, out, problems string }{
		{"", "no call of a service or an action was recorded\n", ""},
		{"--topic /reset", "no call of a service or an action was recorded that fits the filters\n", ""},
		{"--last 1s", "no call of a service or an action was recorded that fits the filters\n", ""},
		{"--series", "no call of a service or an action was recorded\n", ""},
		{"--json", "[]\n", ""},
	} {
		code, out, problems := runCommand(append([]string{"latency", "service", dir}, strings.Fields(test.flags)...)...)
		if code != exitSuccess || out != test.out || problems != test.problems {
			t.Errorf("%s: exit code %d, %q, %q", test.flags, code, out, problems)
		}
	}
}

// What every node has comes behind all others, but where the order is asked for.
func TestOrderOfWhatEveryNodeHas(t *testing.T) {
	dir := chainDataset(t)
	isOwn := func(topic string) bool {
		return topic == "" || strings.HasPrefix(topic, "/topic_") || topic == "/rosout"
	}
	for _, of := range []string{"callback", "communication"} {
		topics := columnOf(t, "topic_name", "latency", of, dir)
		first := slices.IndexFunc(topics, func(topic string) bool { return !isOwn(topic) })
		if first < chainNodes-1 || slices.ContainsFunc(topics[first:], func(topic string) bool { return strings.HasPrefix(topic, "/topic_") }) {
			t.Errorf("latency %s is in the order %v", of, topics)
		}
		asked := columnOf(t, "topic_name", "latency", of, dir, "--sort", "topic_name")
		if named := slices.DeleteFunc(slices.Clone(asked), func(topic string) bool { return topic == "" }); !slices.IsSorted(named) || len(asked) != len(topics) {
			t.Errorf("latency %s by topic is in the order %v", of, asked)
		}
	}
}
