package trigger

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrDefinition is wrapped by errors of definitions that cannot be understood.
var ErrDefinition = errors.New("wrong trigger")

// Kind is what is waited for.
type Kind string

const (
	// Callback: one that takes longer than Over.
	Callback Kind = "callback"
	// Message: one whose callback begins later than Over after its source timestamp.
	Message Kind = "message"
	// Path: one from a publish on From to the start of a callback of To, that takes longer than Over.
	Path Kind = "path"
	// Silent: a topic on which nothing is published for Over, after something was.
	Silent Kind = "silent"
	// Slow: a topic on which less than Rate messages a second are published.
	Slow Kind = "slow"
	// Timer: one whose callback begins later than Periods of its periods after the one before.
	Timer Kind = "timer"
	// Loss: records that were lost, or files that were not probed.
	Loss Kind = "loss"
	// Exit: the end of a recorded process.
	Exit Kind = "exit"
	// Restart: a process of the same executable as one that has ended.
	Restart Kind = "restart"
	// Manual: nothing but a request.
	Manual Kind = "manual"
)

// Action is what is to be done.
type Action string

const (
	// Snapshot writes what was recorded from Before before to After after.
	Snapshot Action = "snapshot"
	// Rotate moves what was recorded so far into a dataset of its own.
	Rotate Action = "rotate"
	// Stop ends the recording.
	Stop Action = "stop"
	// runPrefix begins an action that runs a program.
	runPrefix = "run:"
)

// Program is the path of the program that is to be run, "" for other actions.
func (a Action) Program() string {
	path, ok := strings.CutPrefix(string(a), runPrefix)
	if !ok {
		return ""
	}
	return path
}

// Definition says what is waited for, and what is to be done then.
type Definition struct {
	// Text is the definition as it was given.
	Text string
	Name string
	Kind Kind

	// Over bounds a time, Rate is in hertz, Periods a number of periods.
	Over    time.Duration
	Rate    float64
	Periods float64

	// Node, Topic, Symbol and Process choose by names; nil chooses all. Process is matched against a command line.
	Node, Topic, Symbol, Process *regexp.Regexp
	// From and To are the topics with which a path begins and ends.
	From, To *regexp.Regexp

	// Before and After are the time around it that is wanted.
	Before, After time.Duration
	// Cooldown is how long nothing is done after something was; PerDay is how often something is done in 24 hours.
	Cooldown time.Duration
	PerDay   int
	// Actions are done in this order, when After has passed.
	Actions []Action
}

// The defaults of a definition.
const (
	DefaultBefore   = 10 * time.Second
	DefaultAfter    = 5 * time.Second
	DefaultCooldown = time.Minute
	DefaultPerDay   = 24
	defaultPeriods  = 2
)

const (
	// maxDefinitions and maxDefinition bound what is watched for.
	maxDefinitions = 64
	// maxPaths bounds those that wait for paths: each keeps up to 70 MiB of messages in mind.
	maxPaths      = 4
	maxDefinition = 4096
	// maxAround bounds Before and After, minSilence what can be told from a reader that is late.
	maxAround  = time.Hour
	minSilence = time.Second
)

// needs are the keys that a kind has to have, and may have, beside those that all kinds may have.
var needs = map[Kind]struct{ required, optional []string }{
	Callback: {[]string{"over"}, []string{"node", "topic", "symbol"}},
	Message:  {[]string{"over"}, []string{"node", "topic"}},
	Path:     {[]string{"over", "from", "to"}, nil},
	Silent:   {[]string{"over", "topic"}, nil},
	Slow:     {[]string{"rate", "topic"}, nil},
	Timer:    {nil, []string{"periods", "node"}},
	Loss:     {nil, nil},
	Exit:     {nil, []string{"process"}},
	Restart:  {nil, []string{"process"}},
	Manual:   {nil, nil},
}

// Kinds returns all kinds, in alphabetical order.
func Kinds() (kinds []Kind) {
	for kind := range needs {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// ParseAll reads definitions. Names that are not given are the kind's, with a number where there are several.
func ParseAll(texts []string) (all []Definition, err error) {
	if len(texts) > maxDefinitions {
		return nil, fmt.Errorf("%w: at most %d are watched for", ErrDefinition, maxDefinitions)
	}
	named, paths := map[string]bool{}, 0
	for _, text := range texts {
		d, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if d.Kind == Path {
			if paths++; paths > maxPaths {
				return nil, fmt.Errorf("%w: at most %d wait for paths", ErrDefinition, maxPaths)
			}
		}
		if d.Name == "" {
			d.Name = string(d.Kind)
			for number := 2; named[d.Name]; number++ {
				d.Name = fmt.Sprintf("%s-%d", d.Kind, number)
			}
		}
		if named[d.Name] {
			return nil, fmt.Errorf("%w: two have the name %q", ErrDefinition, d.Name)
		}
		named[d.Name] = true
		all = append(all, d)
	}
	return all, nil
}

// Parse reads a definition: a kind, and what is said of it as KEY=VALUE, with white space between them. It fails with
// ErrDefinition.
func Parse(text string) (Definition, error) {
	fail := func(format string, arguments ...any) (Definition, error) {
		return Definition{}, fmt.Errorf("%w: %.80q: %w", ErrDefinition, text, fmt.Errorf(format, arguments...))
	}
	words := strings.Fields(text)
	if len(text) > maxDefinition || len(words) == 0 {
		return fail("it begins with what is waited for: %s", joined(Kinds()))
	}
	d := Definition{
		Text: text, Kind: Kind(words[0]), Periods: defaultPeriods, Before: DefaultBefore, After: DefaultAfter,
		Cooldown: DefaultCooldown, PerDay: DefaultPerDay, Actions: []Action{Snapshot},
	}
	keys, known := needs[d.Kind]
	if !known {
		return fail("%q is none of %s", words[0], joined(Kinds()))
	}
	given := map[string]bool{}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || value == "":
			return fail("%q is not KEY=VALUE", word)
		case given[key]:
			return fail("%s is said twice", key)
		case !slices.Contains(commonKeys, key) && !slices.Contains(keys.required, key) && !slices.Contains(keys.optional, key):
			return fail("%s has no %q, but %s", d.Kind, key, joined(slices.Concat(keys.required, keys.optional, commonKeys)))
		}
		given[key] = true
		if err := d.set(key, value); err != nil {
			return fail("%s: %w", key, err)
		}
	}
	for _, key := range keys.required {
		if !given[key] {
			return fail("%s needs %s=…", d.Kind, key)
		}
	}
	if d.Kind == Silent && d.Over < minSilence {
		return fail("over: silence is seen from %v on", minSilence)
	}
	return d, nil
}

var commonKeys = []string{"name", "before", "after", "cooldown", "per-day", "do"}

func joined[T ~string](texts []T) string {
	plain := make([]string, len(texts))
	for i, text := range texts {
		plain[i] = string(text)
	}
	return strings.Join(plain, ", ")
}

// namePattern is what names may consist of: they are parts of file names.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (d *Definition) set(key, value string) (err error) {
	switch key {
	case "name":
		if !namePattern.MatchString(value) {
			return errors.New("a name has letters, digits, '_', '-' and '.' only, at most 64")
		}
		d.Name = value
	case "over":
		d.Over, err = duration(value, time.Nanosecond, 24*time.Hour)
	case "before":
		d.Before, err = duration(value, 0, maxAround)
	case "after":
		d.After, err = duration(value, 0, maxAround)
	case "cooldown":
		d.Cooldown, err = duration(value, 0, 24*time.Hour)
	case "rate":
		d.Rate, err = number(value, 0.001, 1e6)
	case "periods":
		d.Periods, err = number(value, 1, 1e6)
	case "per-day":
		var count float64
		if count, err = number(value, 1, 1e6); err == nil && count != float64(int(count)) {
			err = errors.New("it is no whole number")
		}
		d.PerDay = int(count)
	case "node":
		d.Node, err = regexp.Compile(value)
	case "topic":
		d.Topic, err = regexp.Compile(value)
	case "from":
		d.From, err = regexp.Compile(value)
	case "to":
		d.To, err = regexp.Compile(value)
	case "symbol":
		d.Symbol, err = regexp.Compile(value)
	case "process":
		d.Process, err = regexp.Compile(value)
	case "do":
		d.Actions, err = actions(value)
	}
	return err
}

func duration(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && (d < least || d > most) {
		err = fmt.Errorf("%v is not from %v to %v", d, least, most)
	}
	return d, err
}

func number(text string, least, most float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && !(n >= least && n <= most) {
		err = fmt.Errorf("%v is not from %v to %v", n, least, most)
	}
	return n, err
}

func actions(text string) (all []Action, err error) {
	for name := range strings.SplitSeq(text, ",") {
		action := Action(name)
		path := action.Program()
		switch {
		case action == Snapshot || action == Rotate || action == Stop:
		case path == "":
			return nil, fmt.Errorf("%q is none of snapshot, rotate, stop, run:PATH", name)
		case !strings.HasPrefix(path, "/"):
			return nil, fmt.Errorf("%q: the program's path begins with a slash", name)
		}
		all = append(all, action)
	}
	return all, nil
}
