package settings

import (
	"strings"

	"github.com/spf13/pflag"
)

// Form is what can stand in a file.
type Form struct {
	// Define adds the flags that a file can set.
	Define func(*pflag.FlagSet)
	// Words is the setting for the words that are no flags, and Usage its explanation; "" if there are none.
	Words, Usage string
	// Rivals are settings that exclude each other. If the command line has one of them, those of the file do not count.
	Rivals []string
	// Check returns what is wrong with a text for a setting that its flag takes; nil finds nothing.
	Check func(name, text string) error
	// Similar returns the name that was most likely meant, "" if none is like it.
	Similar func(name string, names []string) string
}

// Annotations of flags.
const (
	// Values are all that a flag can be.
	Values = "values"
	// Separator says that a list in a file is one text for the flag, with this between its elements.
	Separator = "separator"
)

// Annotate adds an annotation to a flag that was just defined.
func Annotate(flags *pflag.FlagSet, name, key string, values ...string) {
	if err := flags.SetAnnotation(name, key, values); err != nil {
		panic(err) // there is no such flag
	}
}

// flags returns all flags, with their defaults.
func (f *Form) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	f.Define(flags)
	return flags
}

// each calls a function for all flags, in the order of their definition.
func (f *Form) each(do func(*pflag.Flag)) { f.flags().VisitAll(do) }

// isRepeatable reports whether a flag can be given several times.
func isRepeatable(flag *pflag.Flag) bool { return flag.Value.Type() == "stringArray" }

func isBool(flag *pflag.Flag) bool { return flag.Value.Type() == "bool" }

// separator returns what joins the elements of a list; ok is false if the flag takes none.
func separator(flag *pflag.Flag) (text string, ok bool) {
	if values := flag.Annotations[Separator]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

// explain is the usage of a flag without the marks around the name of its value.
func explain(usage string) string { return strings.ReplaceAll(usage, "`", "") }
