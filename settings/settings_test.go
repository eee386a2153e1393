package settings_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/settings"
	"github.com/caret-bpf/caret-bpf/test/yamlschema"
)

// tea is a command with a flag of each kind.
type tea struct {
	guests   string
	everyone bool
	kind     string
	steep    time.Duration
	add      []string
}

func (t *tea) define(flags *pflag.FlagSet) {
	flags.StringVarP(&t.guests, "guest", "g", "", "for `NAMES`")
	flags.BoolVar(&t.everyone, "everyone", false, "for all")
	flags.StringVar(&t.kind, "kind", "", "the `KIND`: green or black")
	flags.DurationVar(&t.steep, "steep", 0, "how long, a `TIME`")
	flags.StringArrayVar(&t.add, "add", nil, "also this `THING` (repeatable)")
	settings.Annotate(flags, "guest", settings.Separator, ",")
	settings.Annotate(flags, "kind", settings.Values, "green", "black")
}

func form() *settings.Form {
	return &settings.Form{
		Define: new(tea).define, Words: "tell", Usage: "tell this",
		Rivals: []string{"guest", "everyone", "tell"},
		Similar: func(name string, names []string) string {
			if i := slices.IndexFunc(names, func(n string) bool { return n != "" && name != "" && n[0] == name[0] }); i >= 0 {
				return names[i]
			}
			return ""
		},
	}
}

// pour applies a file behind a command line.
func pour(t testing.TB, file string, line ...string) (made tea, words []string, err error) {
	t.Helper()
	flags := pflag.NewFlagSet("tea", pflag.ContinueOnError)
	made.define(flags)
	if err := flags.Parse(line); err != nil {
		t.Fatal(err)
	}
	words, err = form().Apply("tea.yaml", strings.NewReader(file), flags, flags.Args())
	return made, words, err
}

func TestApply(t *testing.T) {
	for name, test := range map[string]struct {
		file  string
		line  []string
		want  tea
		words []string
	}{
		"nothing":            {},
		"only comments":      {file: "# kind: green\n"},
		"an empty document":  {file: "---\n"},
		"each kind":          {file: "kind: green\nsteep: 1m30s\nadd: [milk, 2]\neveryone: true\n", want: tea{kind: "green", steep: 90 * time.Second, add: []string{"milk", "2"}, everyone: true}},
		"one thing":          {file: "add: milk\n", want: tea{add: []string{"milk"}}},
		"a joined list":      {file: "guest: [1, ann]\n", want: tea{guests: "1,ann"}},
		"words":              {file: "tell: [a, -b]\n", words: []string{"a", "-b"}},
		"numbers as written": {file: "guest: 0644\n", want: tea{guests: "0644"}},
		"the line goes before": {
			file: "kind: green\nsteep: 1s\nadd: [milk]\n", line: []string{"--kind", "black", "--add", "sugar"},
			want: tea{kind: "black", steep: time.Second, add: []string{"sugar"}},
		},
		"a rival in the line": {
			file: "everyone: true\nkind: green\ntell: [x]\n", line: []string{"-g", "ann"}, want: tea{guests: "ann", kind: "green"},
		},
		"words in the line": {file: "guest: ann\n", line: []string{"y"}, words: []string{"y"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, words, err := pour(t, test.file, test.line...)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) || !slices.Equal(words, test.words) {
				t.Errorf("got %+v with %q, want %+v with %q", got, words, test.want, test.words)
			}
		})
	}
}

// Each text of a setting is looked at by itself, and told with its own line.
func TestCheckOfTexts(t *testing.T) {
	f := form()
	f.Check = func(name, text string) error {
		if text == "poison" {
			return fmt.Errorf("no %s in %s", text, name)
		}
		return nil
	}
	flags := pflag.NewFlagSet("tea", pflag.ContinueOnError)
	new(tea).define(flags)
	_, err := f.Apply("tea.yaml", strings.NewReader("guest: [ann, poison]\nadd:\n- milk\n- poison\n- poison\nkind: green\n"), flags, nil)
	want := []string{"tea.yaml:1: guest: no poison in guest", "tea.yaml:4: add: no poison in add", "tea.yaml:5: add: no poison in add"}
	if err == nil || !errors.Is(err, settings.ErrFile) {
		t.Fatal(err)
	}
	got := strings.Split(strings.ReplaceAll(err.Error(), settings.ErrFile.Error()+": ", ""), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	for file, want := range map[string]map[string]int{
		"": {}, "- a\n": {}, "a: [\n": {}, "# x\na: 1\n\nb: [1,\n 2]\nc: {}\n": {"a": 2, "b": 4, "c": 6},
	} {
		if got := settings.Lines(strings.NewReader(file)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestWhatIsWrongIsToldAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"unknown names":  {"knd: green\nzzz: 1\n", []string{`tea.yaml:1: there is no setting "knd"; did you mean "kind"?`, `tea.yaml:2: there is no setting "zzz"`}},
		"wrong values":   {"steep: 30\nkind: red\neveryone: yes\n", []string{"tea.yaml:1: steep: ", `tea.yaml:2: kind: "red" is none of green, black`, `tea.yaml:3: everyone: "yes" is none of true, false`}},
		"twice":          {"kind: green\nkind: black\n", []string{"tea.yaml:2: kind stands in line 1 already"}},
		"no value":       {"kind:\nadd: [milk, ~]\n", []string{"tea.yaml:1: kind has no value", "tea.yaml:2: add has no value"}},
		"a list for one": {"kind: [green]\n", []string{"tea.yaml:1: kind is one value, not a list"}},
		"one for a list": {"tell: x\n", []string{"tea.yaml:1: tell is a list of words"}},
		"nested":         {"add: {a: 1}\nguest: [[1]]\n", []string{"tea.yaml:1: add is a value", "tea.yaml:2: guest is a value"}},
		"a list":         {"- kind\n", []string{"tea.yaml:1: it has no lines such as"}},
		"no YAML":        {"kind: [\n", []string{"tea.yaml: yaml:"}},
		"two documents":  {"kind: green\n---\nkind: black\n", []string{"tea.yaml: there is more than one document"}},
		"an alias":       {"guest: &a ann\nadd: *a\n", []string{"tea.yaml:2: add is a value"}},
		"too large":      {strings.Repeat("#\n", 1<<20), []string{"tea.yaml has more than 1048576 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := pour(t, test.file)
			if !errors.Is(err, settings.ErrFile) {
				t.Fatalf("the error is %v", err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Errorf("%d errors, want %d:\n%v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.Contains(lines[min(i, len(lines)-1)], want) {
					t.Errorf("%q is not in %q", want, lines)
				}
			}
			if fmt.Sprint(made) != fmt.Sprint(tea{}) {
				t.Errorf("something was set: %+v", made)
			}
		})
	}
}

// The file of defaults has every setting, says nothing as it stands, and is understood where its lines are used.
func TestDefault(t *testing.T) {
	text := form().Default(60)
	if made, _, err := pour(t, text); err != nil || fmt.Sprint(made) != fmt.Sprint(tea{}) {
		t.Errorf("it says %+v, %v", made, err)
	}
	for _, name := range []string{"guest", "everyone", "kind", "steep", "add", "tell"} {
		if !strings.Contains(text, "\n#"+name+":") {
			t.Errorf("%s is missing in\n%s", name, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 61 {
			t.Errorf("%q is longer than 60", line)
		}
	}
	used := regexp.MustCompile(`(?m)^#(\w+: )`).ReplaceAllString(text, "$1")
	if _, _, err := pour(t, used); err != nil || used == text {
		t.Errorf("its lines are not understood: %v", err)
	}
}

var patterns = map[string]settings.Pattern{"duration": {Text: `^([0-9]+(ms|s|m|h))+$`}}

func schema(t testing.TB) *yamlschema.Schema {
	t.Helper()
	text, err := form().Schema("tea", patterns)
	if err != nil {
		t.Fatal(err)
	}
	return yamlschema.Compile(t, text)
}

func TestSchema(t *testing.T) {
	s := schema(t)
	for file, want := range map[string]bool{
		"kind: green\nsteep: 1m30s\nadd: [milk, 2]\neveryone: true\ntell: [a]\n": true,
		"": true, "add: milk\n": true, "guest: 1\n": true, "guest: [1, 2]\n": true,
		"kind: red\n": false, "knd: green\n": false, "steep: 30\n": false, "everyone: 1\n": false, "tell: x\n": false,
		"kind:\n": false, "add: {a: 1}\n": false, "- kind\n": false, "kind: [green]\n": false,
	} {
		if got, ok := s.Fits(file); !ok || got != want {
			t.Errorf("%q fits: %v, want %v", file, got, want)
		}
		if _, _, err := pour(t, file); (err == nil) != want {
			t.Errorf("%q is read with %v, while it fits: %v", file, err, want)
		}
	}
}

// Whatever a file has, it ends without a panic. What fits the schema is understood.
func FuzzApply(f *testing.F) {
	for _, file := range []string{
		"", "kind: green\nsteep: 1m30s\nadd: [milk, 2]\n", "tell: [a]\n", "guest: &a [1]\nadd: *a\n", "<<: {kind: green}\n", "kind: !!binary aGk=\n", "? [a]\n: 1\n", "add: [2024-01-01, 0x1f]\n",
		"{}{{", "{}\n---\n{}\n",
	} {
		f.Add(file)
	}
	s := schema(f)
	f.Fuzz(func(t *testing.T, file string) {
		_, _, err := pour(t, file)
		if err != nil && !errors.Is(err, settings.ErrFile) {
			t.Errorf("%q: %v", file, err)
		}
		_ = settings.Lines(strings.NewReader(file))
		plain := !strings.ContainsAny(file, "&*!?<") // what JSON has no word for
		if got, ok := s.Fits(file); ok && got && plain && err != nil {
			t.Errorf("%q fits the schema: %v", file, err)
		}
	})
}
