package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sandboxOption is the name of a setting in the first cell of a row of docs/service.md's table.
var sandboxOption = regexp.MustCompile("`([A-Z][A-Za-z]*=[^`]*)`")

// sandboxTable returns what the table says of each option: one word a kernel.
func sandboxTable(t *testing.T) map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "service.md"))) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		options := sandboxOption.FindAllStringSubmatch(cells[0], -1)
		if len(cells) != 4 || len(options) == 0 {
			continue
		}
		var words []string
		for _, cell := range cells[1:3] {
			words = append(words, strings.TrimSpace(cell))
		}
		for _, option := range options {
			table[option[1]] = words
		}
	}
	return table
}

// scripts/vm/service.sh tries what the table lists. So nothing is in the unit that was not found to do no harm.
func TestTheUnitHasOnlyWhatWasTried(t *testing.T) {
	table := sandboxTable(t)
	_, sandbox, found := strings.Cut(read(t, filepath.Join(root, "packaging", "caret-bpf.service")), "\n# Sandbox")
	sandbox, _, ended := strings.Cut(sandbox, "\n\n")
	if !found || !ended || len(table) == 0 {
		t.Fatalf("the unit has no sandbox, or the table no options: %d", len(table))
	}
	for _, option := range strings.Split(sandbox, "\n")[1:] {
		if strings.HasPrefix(option, "#") {
			continue
		}
		words := table[option]
		harms := func(word string) bool { return word != "survives" }
		if len(words) == 0 || slices.ContainsFunc(words, harms) {
			t.Errorf("%s is in the unit, and the table says %v", option, words)
		}
	}
}

// unitSetting returns what the unit says of a setting, which has to stand in it once.
func unitSetting(t *testing.T, name string) string {
	t.Helper()
	var values []string
	for line := range strings.Lines(read(t, filepath.Join(root, "packaging", "caret-bpf.service"))) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			values = append(values, value)
		}
	}
	if len(values) != 1 {
		t.Fatalf("the unit has %s %d times", name, len(values))
	}
	return values[0]
}

// The unit lacks ProtectClock=yes, because adjtimex also asks. What else that option does holds all the same: no
// capability with which a clock or an alarm can be set, no other call that sets one, and no device that is one.
func TestTheUnitCannotSetTheClock(t *testing.T) {
	for _, capability := range strings.Fields(unitSetting(t, "CapabilityBoundingSet")) {
		if strings.HasPrefix(capability, "~") || capability == "CAP_SYS_TIME" || capability == "CAP_WAKE_ALARM" {
			t.Errorf("the bounding set has %s", capability)
		}
	}
	setters := []string{"@clock", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "settimeofday", "stime", "@privileged", "@raw-io"}
	for _, call := range strings.Fields(unitSetting(t, "SystemCallFilter")) {
		if strings.HasPrefix(call, "~") || slices.Contains(setters, call) {
			t.Errorf("the filter lets %s through", call)
		}
	}
	for _, setting := range []string{"PrivateDevices", "NoNewPrivileges"} {
		if value := unitSetting(t, setting); value != "yes" {
			t.Errorf("%s is %s", setting, value)
		}
	}
}

// What is not restarted is what does not pass by itself: docs/recording.md says what the exit codes mean.
func TestTheUnitDoesNotRestartInVain(t *testing.T) {
	permanent := []string{"wrong usage", "privileges are missing", "the kernel lacks something"}
	recording := read(t, filepath.Join(root, "docs", "recording.md"))
	for _, code := range strings.Fields(unitSetting(t, "RestartPreventExitStatus")) {
		if _, err := strconv.Atoi(code); err != nil {
			t.Errorf("%q is no exit code", code)
		}
		_, meaning, _ := strings.Cut(recording, "\n| "+code+" | ")
		found := slices.IndexFunc(permanent, func(words string) bool { return strings.HasPrefix(meaning, words) })
		if found < 0 {
			t.Errorf("exit code %s is not restarted, and may pass by itself", code)
			continue
		}
		permanent = slices.Delete(permanent, found, found+1)
	}
	if len(permanent) > 0 {
		t.Errorf("restarted although it does not pass by itself: %q", permanent)
	}
}

// packaged is a file of the repository, or one that is built, in packaging/nfpm.yaml.
var packaged = regexp.MustCompile(`(?m)^  - src: (\S+)$`)

// What of the packages is not built is there, and they have what the page says.
func TestPackagesHaveWhatThereIs(t *testing.T) {
	var names []string
	for _, source := range packaged.FindAllStringSubmatch(read(t, filepath.Join(root, "packaging", "nfpm.yaml")), -1) {
		if names = append(names, filepath.Base(source[1])); !strings.HasPrefix(source[1], "build/") {
			read(t, filepath.Join(root, source[1]))
		}
	}
	for _, name := range []string{"openapi.yaml", "session.schema.json", "grafana-dashboard.json", "session.yaml", "caret-bpf.service"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not packaged", name)
		}
	}
}

func TestTheTableKnowsFewOutcomes(t *testing.T) {
	for option, words := range sandboxTable(t) {
		for _, word := range words {
			if !slices.Contains([]string{"survives", "breaks", "not tried"}, word) {
				t.Errorf("%s: %q", option, word)
			}
		}
	}
}
