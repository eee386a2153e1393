package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/docs"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/test/yamlschema"
)

func writeSettings(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "session.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestConfigSchema compares the published schemas with the program, and writes them where that is asked for.
func TestConfigSchema(t *testing.T) {
	for published, question := range map[string][]string{
		"session.schema.json": {"config", "schema"},
		"expect.schema.json":  {"expect", "--schema"},
	} {
		published = filepath.Join("../../docs", published)
		code, schema, problems := runCommand(question...)
		if code != exitSuccess {
			t.Fatalf("%v: exit code %d: %s", question, code, problems)
		}
		if os.Getenv(docs.WriteVariable) != "" {
			if err := os.WriteFile(published, []byte(schema), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if content, err := os.ReadFile(published); err != nil || string(content) != schema {
			t.Errorf("%s is not up to date; run `make docs` (%v)", published, err)
		}
	}
}

// What `config default` prints can be used, and has every flag of record but those that only a command line has.
func TestConfigDefault(t *testing.T) {
	code, text, problems := runCommand("config", "default")
	if code != exitSuccess {
		t.Fatalf("exit code %d: %s", code, problems)
	}
	if code, _, problems := runCommand("config", "check", writeSettings(t, text)); code != exitSuccess {
		t.Errorf("exit code %d: %s", code, problems)
	}
	flags := pflag.NewFlagSet("record", pflag.ContinueOnError)
	recordCommand().define(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if strings.Contains(text, "\n#"+flag.Name+":") == (flag.Name == configFlag || flag.Name == backgroundFlag) {
			t.Errorf("--%s: the file has it, or not", flag.Name)
		}
	})
}

// settingsOf are files and whether they can be used. The schema says the same of those that are not excepted.
var settingsOf = map[string]struct {
	valid bool
	// beyond says that the schema cannot tell what is wrong.
	beyond bool
}{
	"":                                    {valid: true},
	"pid: 123\n":                          {valid: true},
	"pid: [123, 456]\nprofile: minimal\n": {valid: true},
	"all: true\nduration: 1m30s\nmode: 0644\nmax-overhead: 2.5%\nbuffer-size: 64M\nsegment-period: 5s\n":            {valid: true},
	"buffer-size: 65536\nsites: entries\nraw: true\nforce-tracefs: false\nquiet: true\n":                            {valid: true},
	"name: talker\nprefix: [install]\nattribute: vehicle=bus-7\n":                                                   {valid: true},
	"all: true\nrotate-every: 10m\nupload: s3://fleet/recordings\nupload-bandwidth: 1M\nupload-delete-after: 48h\n": {valid: true},
	"all: true\nupload: lake\nupload-delete-after: 0s\n":                                                            {valid: true},
	"upload: s3://\n":                                {beyond: true},
	"upload: lake\nupload-bandwidth: 1M\n":           {beyond: true},
	"upload-bandwidth: 1M\n":                         {beyond: true},
	"upload: s3://fleet\nkeep-age: 48h\n":            {beyond: true},
	"upload: s3://fleet\nupload-delete-after: -1h\n": {},
	"upload: s3://fleet\nupload-bandwidth: fast\n":   {},
	"rotate-every: 10\n":                             {},
	"ring: 30s\nrotate-every: 10m\n":                 {beyond: true},
	"command: [ros2, launch, a, b.launch.py]\nselect-node: [/a, /b]\nignore-topic: /c\n": {valid: true},
	"profile: medium\n":      {},
	"duration: 30\n":         {},
	"max-overhead: 0.02\n":   {},
	"buffer-size: 64MB\n":    {},
	"raw: 1\n":               {},
	"select-nod: /a\n":       {},
	"command: ros2\n":        {},
	"config: other.yaml\n":   {},
	"pid: 1\nname: a\n":      {beyond: true},
	"name: (\n":              {beyond: true},
	"attribute: vehicle\n":   {beyond: true},
	"mode: 9\n":              {beyond: true},
	"all: true\nall: true\n": {beyond: true},
	"pid: nobody\n":          {beyond: true},
	"buffer-size: 2G\n":      {beyond: true},
	"max-overhead: 200%\n":   {beyond: true},

	"all: true\nring: 30s\nmin-free: 2G\nkeep-total-size: 20G\nkeep-total-age: 720h\n": {valid: true},
	"deferred-start: true\ncontrol: auto\n":                                            {valid: true},

	"deferred-start: true\n":                       {beyond: true},
	"keep-segments: 0\n":                           {beyond: true},
	"keep-age: 0s\n":                               {beyond: true},
	"max-rows: 0\n":                                {beyond: true},
	"metrics: 0.0.0.0:9464\n":                      {beyond: true},
	"ring: 30s\nkeep-size: 2G\n":                   {beyond: true},
	"keep-size: 20G\nkeep-total-size: 10G\n":       {beyond: true},
	"trigger: callbak over=1ms\n":                  {beyond: true},
	"ring: 30s\ntrigger: manual do=rotate\n":       {beyond: true},
	"command: [true]\ndeferred-start: true\n":      {beyond: true},
	"attribute: [vehicle=a, route=b, vehicle=c]\n": {beyond: true},
}

// All that is wrong is told at once, with the line in which it stands: first of each setting, then of what contradicts
// another.
func TestConfigCheckTellsAll(t *testing.T) {
	for text, want := range map[string][]string{
		"name: (\nprofil: full\ntrigger:\n- manual\n- callbak over=1ms\n- callback\nselect-node: [/a, '[']\nkeep-segments: 0\nmode: 9\nmetrics: everywhere\n": {
			":1: name: ", ":2: there is no setting", ":5: trigger: ", ":6: trigger: ", ":7: select-node: ", ":8: keep-segments: 0 is no bound", ":9: mode: ", ":10: metrics: ",
		},
		"all: true\nname: a\nring: 30s\ndeferred-start: true\nkeep-age: 1h\nmax-size: 1G\nkeep-total-age: 1m\n": {
			":4: wrong usage: --deferred-start", ":2: invalid configuration: name the processes", ":5: invalid configuration: --ring", ":6: invalid configuration: --max-rows",
			":7: invalid configuration: --keep-total-age",
		},
	} {
		file := writeSettings(t, text)
		code, _, problems := runCommand("config", "check", file)
		if code != exitUsage {
			t.Errorf("exit code %d", code)
		}
		for _, line := range want {
			if !strings.Contains(problems, file+line) {
				t.Errorf("no %q in\n%s", line, problems)
			}
		}
		if got := strings.Count(problems, file+":"); got != len(want) {
			t.Errorf("%d problems, want %d:\n%s", got, len(want), problems)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	for text, want := range settingsOf {
		code, out, problems := runCommand("config", "check", writeSettings(t, text))
		if (code == exitSuccess) != want.valid || code != exitSuccess && code != exitUsage {
			t.Errorf("%q: exit code %d: %s%s", text, code, out, problems)
		}
		if !want.valid && !strings.Contains(problems, "session.yaml") {
			t.Errorf("%q: the file is not named: %s", text, problems)
		}
	}
	for _, missing := range [][]string{{"config", "check"}, {"config", "check", "a", "b"}, {"config", "default", "a"}, {"config", "schema", "a"}} {
		if code, _, _ := runCommand(missing...); code != exitUsage {
			t.Errorf("%v: exit code %d", missing, code)
		}
	}
	if code, _, problems := runCommand("config", "check", filepath.Join(t.TempDir(), "none.yaml")); code != exitFailure || !strings.Contains(problems, "none.yaml") {
		t.Errorf("a file that is not there: exit code %d: %s", code, problems)
	}
}

// The settings that the packages bring can be used, also with what the documentation says to add to them.
func TestPackagedSettings(t *testing.T) {
	packaged, err := os.ReadFile("../../packaging/session.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, added := range []string{"", "ring: 30s\n", "ring: 30s,256M\nmode: 0644\ntrigger: callback over=50ms do=snapshot,run:/bin/true\n"} {
		if code, _, problems := runCommand("config", "check", writeSettings(t, string(packaged)+added)); code != exitSuccess {
			t.Errorf("with %q: exit code %d: %s", added, code, problems)
		}
	}
}

func TestConfigSchemaAgrees(t *testing.T) {
	text, err := configSchema()
	if err != nil {
		t.Fatal(err)
	}
	schema := yamlschema.Compile(t, text)
	for text, want := range settingsOf {
		if want.beyond {
			continue
		}
		if fits, ok := schema.Fits(text); !ok || fits != want.valid {
			t.Errorf("%q fits the schema: %v", text, fits)
		}
	}
}

// A user for whom root records gets no word of what only root may read.
func TestConfigIsReadAsTheCaller(t *testing.T) {
	requireRoot(t)
	const secret = "root:secret"
	folder, err := os.MkdirTemp("/tmp", "settings")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "shadow")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"config", "check", file}, {"record", "--all", "--config", file}} {
		var stdout, stderr bytes.Buffer
		c := newConsole(&stdout, &stderr, func(string) string { return "" })
		c.caller = &identity.Identity{User: 12345, Group: 12345}
		code := execute(t.Context(), c, line)
		if said := stdout.String() + stderr.String(); code != exitFailure || strings.Contains(said, "secret") || !strings.Contains(said, "permission denied") {
			t.Errorf("%v: exit code %d: %s", line, code, said)
		}
	}
}

// record takes from the file what the command line does not say.
func TestRecordWithConfig(t *testing.T) {
	const noProcess = "4194305" // above the highest PID
	for name, test := range map[string]struct {
		settings string
		line     []string
		code     int
		want     string
	}{
		"the file names the process":      {"pid: " + noProcess + "\n", nil, exitNoTarget, noProcess},
		"the line names another":          {"all: true\ncommand: [true]\n", []string{"-p", noProcess}, exitNoTarget, noProcess},
		"the file is wrong":               {"pid: 1\nprofil: full\n", nil, exitUsage, `did you mean "profile"?`},
		"a wrong value beside the line's": {"profile: medium\n", []string{"-p", noProcess, "--profile", "full"}, exitUsage, "session.yaml:1: profile"},
		"both are too much":               {"pid: 1\nall: true\n", nil, exitUsage, "in one way"},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := append([]string{"record", "--config", writeSettings(t, test.settings), "-o", filepath.Join(t.TempDir(), "rec")}, test.line...)
			code, out, problems := runCommand(arguments...)
			if os.Geteuid() != 0 && code == exitPermission {
				t.Skip("recording needs root")
			}
			if code != test.code || !strings.Contains(problems, test.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s%s", code, test.code, test.want, out, problems)
			}
		})
	}
}
