package tracers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installLTTng notes how lttng is called, has it fail for one subcommand, and returns what reads the notes.
func installLTTng(t *testing.T, failing string) (subcommands func() string) {
	t.Helper()
	notes := filepath.Join(t.TempDir(), "notes")
	install(t, "lttng-sessiond", "exit 1\n")
	install(t, "lttng", `for a; do case $a in --quiet|--no-sessiond) ;; *) break;; esac; done
echo "$a" >> `+notes+`
[ "$a" != list ] || echo "Discarded events: 5
Discarded events:   6"
[ "$a" != `+failing+` ] || { echo it fails; exit 1; }
`)
	return func() string {
		text, err := os.ReadFile(notes)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
}

const asStarted = "create enable-channel enable-event add-context untrack track track start"

func TestLTTngSession(t *testing.T) {
	for failing, want := range map[string]string{
		"none":        asStarted + " stop list destroy",
		"create":      "create",
		"add-context": "create enable-channel enable-event add-context destroy",
		"track":       "create enable-channel enable-event add-context untrack track destroy",
		"start":       asStarted + " destroy",
		"stop":        asStarted + " stop destroy",
	} {
		t.Run(failing, func(t *testing.T) {
			subcommands := installLTTng(t, failing)
			session := LTTngSession{Name: "s", Output: t.TempDir(), Events: "ros2:*", Blocking: true}
			err := session.Start(t.Context(), 7, 8)
			var lost uint64
			if err == nil {
				lost, err = session.Stop(t.Context())
			}
			if got := subcommands(); got != want {
				t.Errorf("%s", got)
			}
			if (failing == "none") != (err == nil) || err != nil && (!errors.Is(err, ErrLTTng) || !strings.Contains(err.Error(), "it fails")) {
				t.Errorf("%v", err)
			}
			if err == nil && lost != 11 {
				t.Errorf("lost %d", lost)
			}
		})
	}
}

func TestDaemon(t *testing.T) {
	installLTTng(t, "list") // no daemon answers
	if _, err := StartDaemon(t.Context()); !errors.Is(err, ErrLTTng) {
		t.Errorf("one that does not start: %v", err)
	}
	installLTTng(t, "none")
	daemon, err := StartDaemon(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	daemon.Stop()
	t.Setenv("PATH", t.TempDir())
	if _, err := StartDaemon(t.Context()); !errors.Is(err, ErrLTTng) {
		t.Errorf("none installed: %v", err)
	}
}
