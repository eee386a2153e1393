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
		"a part of a name":  {[]string{"--node", "talker"}, exitNoTarget, `no node is called "talker": an expression has to fit the whole name; did you mean "/talker"?`},
		"a slip":            {[]string{"--node", "/tolker"}, exitNoTarget, `did you mean "/talker"?`},
		"nothing alike":     {[]string{"--node", "/camera"}, exitNoTarget, `no node is called "/camera": an expression has to fit the whole name` + "\n"},
		"a topic":           {[]string{"--topic", "chatter"}, exitNoTarget, `no topic or service is called "chatter": an expression has to fit the whole name; did you mean "/chatter"?`},
		"a service":         {[]string{"--topic", "/rest"}, exitNoTarget, `did you mean "/reset"?`},
		"a callback":        {[]string{"--callback", "/talker/callback"}, exitNoTarget, `did you mean "/talker/callback_0"?`},
		"a process":         {[]string{"-p", "78"}, exitNoTarget, "no process 78 was recorded"},
		"without warnings":  {[]string{"--node", "talker", "-q"}, exitNoTarget, "no node is called"},
		"one of two":        {[]string{"--node", "/talker", "--node", "/realy"}, exitSuccess, `warning: no node is called "/realy": an expression has to fit the whole name; did you mean "/relay"?`},
		"one of two, quiet": {[]string{"--node", "/talker", "--node", "/realy", "-q"}, exitSuccess, ""},
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

// So is who names a path.
func TestPathsOfNamesThatThereAreNot(t *testing.T) {
	dir := relayDataset(t)
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"from":           {[]string{"paths", dir, "--from", "/chater", "--to", "/relayed"}, `no such topic or node: /chater; by "/chater", did you mean "/chatter"?`},
		"to":             {[]string{"latency", "path", dir, "--from", "/chatter", "--to", "/relay3d"}, `by "/relay3d", did you mean "/relayed" or "/relay"?`},
		"in a path":      {[]string{"latency", "response-time", dir, "--path", "[/talker]-[/chatter]-[/realy]"}, `by "/realy", did you mean "/relay"?`},
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
