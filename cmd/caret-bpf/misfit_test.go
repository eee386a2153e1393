package main

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// Whoever asks for what there is not is told so, by which rule, and what is called alike.
func TestFiltersThatFitNothing(t *testing.T) {
	dir := relayDataset(t)
	key := trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.Callback{
		{ProcessKey: key, Callback: 0x13, CallbackStartTimestamp: trace.Some(int64(5)), CallbackEndTimestamp: trace.Some(int64(6)), Status: trace.CallbackComplete},
	})
	for name, test := range map[string]struct {
		arguments []string
		code      int
		says      string // "": nothing
	}{
		"a part of a name":  {[]string{"--node", "talker"}, exitNoTarget, `no known node is called "talker": an expression has to fit the whole name; did you mean "/talker"?`},
		"a slip":            {[]string{"--node", "/tolker"}, exitNoTarget, `did you mean "/talker"?`},
		"nothing alike":     {[]string{"--node", "/camera"}, exitNoTarget, `no known node is called "/camera": an expression has to fit the whole name` + "\n"},
		"a topic":           {[]string{"--topic", "chatter"}, exitNoTarget, `no known topic or service is called "chatter": an expression has to fit the whole name; did you mean "/chatter"?`},
		"a service":         {[]string{"--topic", "/rest"}, exitNoTarget, `did you mean "/reset"?`},
		"a callback":        {[]string{"--callback", "/talker/callback"}, exitNoTarget, `did you mean "/talker/callback_0"?`},
		"a process":         {[]string{"-p", "78"}, exitNoTarget, "no known process has the PID 78"},
		"without warnings":  {[]string{"--node", "talker", "-q"}, exitNoTarget, "no known node is called"},
		"one of two":        {[]string{"--node", "/talker", "--node", "/rely"}, exitSuccess, `warning: no known node is called "/rely": an expression has to fit the whole name; did you mean "/relay"?`},
		"one of two, quiet": {[]string{"--node", "/talker", "--node", "/rely", "-q"}, exitSuccess, ""},
		"its process":       {[]string{"-p", "77"}, exitSuccess, ""},
		"what there is":     {[]string{"--node", "/tal.*"}, exitSuccess, ""},
		"nothing happened":  {[]string{"--node", "/relay"}, exitSuccess, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := runCommand(append([]string{"latency", "callback", dir, "--json"}, test.arguments...)...)
			if code != test.code || !strings.Contains(problems, test.says) || test.says == "" && problems != "" {
				t.Errorf("exit code %d, want %d; %q should be in:\n%s", code, test.code, test.says, problems)
			}
			if answered := strings.Contains(out, "{"); answered != (test.code == exitSuccess && name != "nothing happened") {
				t.Errorf("the answer is %s", out)
			}
		})
	}
}

// Nothing is printed of an answer that there is not, and a path's question says which filter fits nothing.
func TestAnswersThatThereAreNot(t *testing.T) {
	dir := relayDataset(t)
	for _, question := range [][]string{
		{"latency", "callback", dir, "--node", "talker"}, {"latency", "callback", dir, "--node", "talker", "--csv"},
		{"latency", "path", dir, "--from", "/chatter", "--to", "/relayed", "--node", "talker"},
	} {
		code, out, problems := runCommand(question...)
		if code != exitNoTarget || out != "" || !strings.Contains(problems, `did you mean "/talker"?`) {
			t.Errorf("%v: exit code %d, %s\n%s", question, code, problems, out)
		}
	}
}

// So is who names a path.
func TestPathsOfNamesThatThereAreNot(t *testing.T) {
	dir := relayDataset(t)
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"from":           {[]string{"paths", dir, "--from", "/chater", "--to", "/relayed"}, `no such topic or node: /chater; by "/chater", did you mean "/chatter"?`},
		"to":             {[]string{"latency", "path", dir, "--from", "/chatter", "--to", "/relay3d"}, `by "/relay3d", did you mean "/relayed" or "/relay"?`},
		"in a path":      {[]string{"latency", "response-time", dir, "--path", "[/talker]-[/chatter]-[/rely]"}, `by "/rely", did you mean "/relay"?`},
		"nothing alike":  {[]string{"paths", dir, "--from", "/camera"}, "no such topic or node: /camera\n"},
		"no path at all": {[]string{"latency", "path", dir, "--path", "[/relay]-[/chatter]-[/talker]"}, "a path is [node]-[topic]-[node]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out, problems := runCommand(test.arguments...); code != exitUsage || !strings.Contains(problems, test.says) || out != "" {
				t.Errorf("exit code %d; %q should be in:\n%s\n%s", code, test.says, problems, out)
			}
		})
	}
}
