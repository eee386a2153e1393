package settings

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// ErrFile is wrapped by errors of a file that cannot be understood. They name file and line.
var ErrFile = errors.New("wrong settings")

// MaxFile bounds what is read of a file, in bytes.
const MaxFile = 1 << 20

// Apply sets the flags that the command line has not set to what a file says. It returns the words to go on with: those
// of the command line or, if that has neither words nor a rival of them, those of the file. All that is wrong is told
// at once, and then nothing is set.
func (f *Form) Apply(name string, file io.Reader, flags *pflag.FlagSet, words []string) ([]string, error) {
	content, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > MaxFile {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrFile, name, MaxFile)
	}
	r := &reading{form: f, file: name, flags: f.flags()}
	r.read(string(content))
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	given := func(name string) bool { return name == f.Words && len(words) > 0 || flags.Changed(name) }
	rivalGiven := slices.ContainsFunc(f.Rivals, given)
	var assignments []setting
	for _, s := range r.settings {
		if given(s.name) || rivalGiven && slices.Contains(f.Rivals, s.name) {
			continue
		}
		assignments = append(assignments, s)
	}
	for _, s := range assignments { // behind the loop above, because this changes what is given
		if s.name == f.Words {
			words = s.texts
		} else if err := assign(flags, s); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// setting is what a file says of one flag, or of the words.
type setting struct {
	name  string
	texts []string // more than one for a flag that can be repeated, and for words
}

func assign(flags *pflag.FlagSet, s setting) error {
	for _, text := range s.texts {
		if err := flags.Set(s.name, text); err != nil {
			return err
		}
	}
	return nil
}

// reading is what is read of one file.
type reading struct {
	form     *Form
	file     string
	flags    *pflag.FlagSet // to try them
	settings []setting
	problems []error
}

// complain notes what is wrong at a line, 0 for the whole file.
func (r *reading) complain(line int, format string, arguments ...any) {
	at := r.file
	if line > 0 {
		at = fmt.Sprintf("%s:%d", r.file, line)
	}
	r.problems = append(r.problems, fmt.Errorf("%w: %s: %w", ErrFile, at, fmt.Errorf(format, arguments...)))
}

func (r *reading) read(content string) {
	decoder := yaml.NewDecoder(strings.NewReader(content))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // it says nothing
	case err != nil:
		r.complain(0, "%w", err)
		return
	}
	switch err := decoder.Decode(new(yaml.Node)); {
	case err == nil:
		r.complain(0, "there is more than one document")
		return
	case !errors.Is(err, io.EOF):
		r.complain(0, "%w", err)
		return
	}
	root := document.Content[0]
	if isNull(root) {
		return
	}
	if root.Kind != yaml.MappingNode {
		r.complain(root.Line, "it has no lines such as `duration: 30s`")
		return
	}
	lines := map[string]int{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if line, twice := lines[key.Value]; twice {
			r.complain(key.Line, "%s stands in line %d already", key.Value, line)
			continue
		}
		lines[key.Value] = key.Line
		r.readSetting(key, value)
	}
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

func (r *reading) readSetting(key, value *yaml.Node) {
	name := key.Value
	flag := r.flags.Lookup(name)
	if flag == nil && (name == "" || name != r.form.Words) {
		r.complainOfName(key)
		return
	}
	texts, ok := r.texts(name, value)
	if !ok {
		return
	}
	s := setting{name, texts}
	isList := value.Kind == yaml.SequenceNode
	switch {
	case flag == nil:
		if !isList {
			r.complain(value.Line, "%s is a list of words, such as [ros2, launch, my_pkg, my.launch.py]", name)
			return
		}
	case isList && isRepeatable(flag):
	case isList:
		joint, joins := separator(flag)
		if !joins {
			r.complain(value.Line, "%s is one value, not a list", name)
			return
		}
		s.texts = []string{strings.Join(texts, joint)}
	}
	if flag != nil {
		if err := r.try(flag, s); err != nil {
			r.complain(value.Line, "%s: %w", name, err)
			return
		}
		r.check(name, texts, value)
	}
	r.settings = append(r.settings, s)
}

// check looks at each text of a setting by itself.
func (r *reading) check(name string, texts []string, value *yaml.Node) {
	if r.form.Check == nil {
		return
	}
	for i, text := range texts {
		line := value.Line
		if value.Kind == yaml.SequenceNode {
			line = value.Content[i].Line
		}
		if err := r.form.Check(name, text); err != nil {
			r.complain(line, "%s: %w", name, err)
		}
	}
}

// Lines returns in which line of a file each setting stands. What is no such file has none.
func Lines(file io.Reader) map[string]int {
	lines := map[string]int{}
	var document yaml.Node
	if err := yaml.NewDecoder(io.LimitReader(file, MaxFile)).Decode(&document); err != nil || document.Content[0].Kind != yaml.MappingNode {
		return lines
	}
	for i, key := range document.Content[0].Content {
		if i%2 == 0 {
			lines[key.Value] = key.Line
		}
	}
	return lines
}

func (r *reading) complainOfName(key *yaml.Node) {
	var names []string
	r.flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	meant := ""
	if similar := r.form.Similar(key.Value, append(names, r.form.Words)); similar != "" {
		meant = fmt.Sprintf("; did you mean %q?", similar)
	}
	r.complain(key.Line, "there is no setting %q%s", key.Value, meant)
}

// texts returns the value of a setting, or the elements of a list, as they stand in the file.
func (r *reading) texts(name string, value *yaml.Node) (texts []string, ok bool) {
	values := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		values = value.Content
	}
	for _, v := range values {
		switch {
		case isNull(v):
			r.complain(v.Line, "%s has no value", name)
			return nil, false
		case v.Kind != yaml.ScalarNode:
			r.complain(v.Line, "%s is a value or a list of values", name)
			return nil, false
		}
		texts = append(texts, v.Value)
	}
	return texts, true
}

// try sets a flag that is not the command's.
func (r *reading) try(flag *pflag.Flag, s setting) error {
	allowed := flag.Annotations[Values]
	if isBool(flag) {
		allowed = []string{"true", "false"}
	}
	for _, text := range s.texts {
		if len(allowed) > 0 && !slices.Contains(allowed, text) {
			return fmt.Errorf("%q is none of %s", text, strings.Join(allowed, ", "))
		}
	}
	for _, text := range s.texts {
		if err := flag.Value.Set(text); err != nil {
			return err
		}
	}
	return nil
}
