package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trigger"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Configuration is what the user wants recorded. It is stored in session.json.
type Configuration struct {
	// PIDs are process ids, separated by commas or white space.
	PIDs string `json:"pids,omitempty"`
	// Name is a regular expression for the command or command line of processes, those that start later included.
	Name string `json:"name,omitempty"`
	// All records every ROS 2 process, those that start later included.
	All bool `json:"all,omitempty"`
	// Command is started, and recorded with its children from the first event.
	Command []string `json:"command,omitempty"`

	// Prefixes are install prefixes whose libraries are probed before a process maps them, where processes are recorded
	// that do not exist yet. What is installed in /opt/ros is so anyway.
	Prefixes []string `json:"prefixes,omitempty"`

	// Attributes are "KEY=VALUE", to be found in the dataset again.
	Attributes []string `json:"attributes,omitempty"`
	// Output is the directory of the dataset.
	Output string `json:"output"`
	// Mode are the permissions of the dataset's files, an octal number; "" means the default.
	Mode string `json:"mode,omitempty"`
	// Duration ends the recording; 0 means no limit.
	Duration time.Duration `json:"duration_ns,omitempty"`

	// DeferredStart attaches everything, and records from Handle.Start on.
	DeferredStart bool `json:"deferred_start,omitempty"`

	// MaxRows, MaxBytes and MinFreeBytes end the recording: when all tables together have so many rows, when they are so
	// large, or when so little is left of the disk. 0 means no limit. They are looked at once a second. Snapshots leave
	// MinFreeBytes, too, and in a recording in memory nothing else counts for them.
	MaxRows      uint64 `json:"max_rows,omitempty"`
	MaxBytes     int64  `json:"max_bytes,omitempty"`
	MinFreeBytes int64  `json:"min_free_bytes,omitempty"`

	// StopWhenGone ends a recording of All or by Name, too, when processes were recorded and none is left.
	StopWhenGone bool `json:"stop_when_gone,omitempty"`

	// RingAge and RingBytes keep only the newest rows, in memory: of a time, or of a size. Datasets are then made by
	// snapshots, in the directory Output. 0 means no bound; if both are, the recording is on disk.
	RingAge   time.Duration `json:"ring_age_ns,omitempty"`
	RingBytes int64         `json:"ring_bytes,omitempty"`
	// KeepAge, KeepBytes and KeepSegments bound what a dataset on disk keeps of rows that are of a moment: of a time, of a
	// size, less what entities take, or of so many SegmentPeriods. 0 means no bound.
	KeepAge      time.Duration `json:"keep_age_ns,omitempty"`
	KeepBytes    int64         `json:"keep_bytes,omitempty"`
	KeepSegments int           `json:"keep_segments,omitempty"`
	// KeepTotalBytes and KeepTotalAge bound what the folder of Output keeps (package former): all recordings and snapshots
	// that recorders have named themselves, the oldest of which are removed when they have ended, and the rows of this
	// one. 0 means no bound.
	KeepTotalBytes int64         `json:"keep_total_bytes,omitempty"`
	KeepTotalAge   time.Duration `json:"keep_total_age_ns,omitempty"`
	// RotateEvery moves what was recorded into a dataset of its own after each such time; 0 means never.
	RotateEvery time.Duration `json:"rotate_every_ns,omitempty"`

	// Upload is the lake into which finished datasets are put beside the recording; "" means none. UploadBandwidth is how
	// many bytes a second are sent, 0 means no limit. UploadDeleteAfter is when they are deleted after they have arrived;
	// nil keeps them.
	Upload            string         `json:"upload,omitempty"`
	UploadBandwidth   int64          `json:"upload_bandwidth,omitempty"`
	UploadDeleteAfter *time.Duration `json:"upload_delete_after_ns,omitempty"`
	// Triggers say what is waited for, and what is done then (trigger.Parse).
	Triggers []string `json:"triggers,omitempty"`

	// SelectNodes to IgnoreTopics are regular expressions. Where something is selected, only that is recorded; otherwise
	// all but what is ignored (CARET's rule).
	SelectNodes  []string `json:"select_nodes,omitempty"`
	IgnoreNodes  []string `json:"ignore_nodes,omitempty"`
	SelectTopics []string `json:"select_topics,omitempty"`
	IgnoreTopics []string `json:"ignore_topics,omitempty"`

	// BufferBytes is the size of the kernel's ring buffer; 0 means the default.
	BufferBytes int `json:"buffer_bytes,omitempty"`
	// SegmentPeriod is the time after which rows are on disk; 0 means the default.
	SegmentPeriod time.Duration `json:"segment_period_ns,omitempty"`
	// Raw adds the table of unmerged events.
	Raw bool `json:"raw,omitempty"`
	// Scheduling says what is recorded of the kernel's scheduler.
	Scheduling Scheduling `json:"scheduling,omitempty"`
	// Profile trades what is recorded for what it costs.
	Profile probes.Profile `json:"profile,omitempty"`
	// MaxOverhead is the share of a thread's time that the recording may cost. Above it the costliest optional probes are
	// detached. 0 means no limit.
	MaxOverhead float64 `json:"max_overhead,omitempty"`
	// Sites says at which instructions events are observed.
	Sites attaching.SiteMode `json:"sites,omitempty"`
	// ForceTracefs attaches as on kernels without uprobe_multi.
	ForceTracefs bool `json:"force_tracefs,omitempty"`
}

// Scheduling is what is recorded of the kernel's scheduler.
type Scheduling string

const (
	// SchedulingOff is nothing.
	SchedulingOff Scheduling = ""
	// SchedulingCallbacks adds to callbacks where their time went.
	SchedulingCallbacks Scheduling = "callbacks"
	// SchedulingFull also adds the table of all times off the CPU.
	SchedulingFull Scheduling = "full"
)

// Schedulings are those that can be asked for.
func Schedulings() []Scheduling { return []Scheduling{SchedulingCallbacks, SchedulingFull} }

// ErrConfiguration is returned for a configuration that contradicts itself or cannot be understood.
var ErrConfiguration = errors.New("invalid configuration")

// minKeepBytes is the least size that can be kept: segments have some 10 kB of their own.
const minKeepBytes = 1 << 20

// maxAttributes bounds what is written of a recording before it begins.
const maxAttributes = 64

// compiled is a configuration ready for use.
type compiled struct {
	Configuration
	name       *regexp.Regexp
	mode       os.FileMode
	filter     merge.Filter
	attributes []trace.Attribute
	triggers   []trigger.Definition
	// rawByProfile says that hits are recorded unmerged, if they are, because of the profile only.
	rawByProfile bool
}

// Check returns what is wrong with a configuration, apart from what only a running system tells.
func (c Configuration) Check() error {
	_, err := c.compile()
	return err
}

// compile returns the configuration ready for use, or all that is wrong with it.
func (c Configuration) compile() (*compiled, error) {
	result := &compiled{Configuration: c}
	var problems []error
	wrong := func(format string, arguments ...any) {
		problems = append(problems, fmt.Errorf("%w: %w", ErrConfiguration, fmt.Errorf(format, arguments...)))
	}
	result.Raw = c.Raw || c.Profile == probes.ProfileFull
	result.rawByProfile = !c.Raw
	ways := 0
	for _, given := range []bool{c.PIDs != "", c.Name != "", c.All, len(c.Command) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		wrong("name the processes in one way: by -p, by --name, by --all, or by a command after --")
	}
	if c.DeferredStart && len(c.Command) > 0 {
		wrong("--deferred-start is for processes that run already or begin by themselves, not for a command")
	}
	if len(c.Prefixes) > 0 && c.PIDs != "" {
		wrong("--prefix is for processes to come, not for those of -p")
	}
	for _, prefix := range c.Prefixes {
		if !filepath.IsAbs(prefix) || strings.ContainsAny(prefix, ":\x00") {
			wrong("--prefix: %q is no absolute path without a colon", prefix)
		}
	}
	if c.Output == "" {
		wrong("the output directory is missing")
	}
	if c.Mode != "" {
		mode, err := writer.ParseMode(c.Mode)
		if err != nil {
			wrong("%w", err)
		}
		result.mode = mode
	}
	if c.Duration < 0 || c.BufferBytes < 0 || c.SegmentPeriod < 0 || c.MaxBytes < 0 || c.MinFreeBytes < 0 {
		wrong("durations and sizes cannot be negative")
	}
	if c.RingAge < 0 || c.RingBytes < 0 || c.KeepAge < 0 || c.KeepBytes < 0 || c.KeepSegments < 0 || c.KeepTotalBytes < 0 || c.KeepTotalAge < 0 {
		wrong("what is kept cannot be negative")
	}
	if c.isRing() && (c.KeepAge > 0 || c.KeepBytes > 0 || c.KeepSegments > 0) {
		wrong("--ring says what is kept in memory, --keep-age, --keep-size and --keep-segments what is kept on disk")
	}
	if c.isRing() && (c.MaxRows > 0 || c.MaxBytes > 0) {
		wrong("--max-rows and --max-size are bounds of a dataset on disk, not of --ring")
	}
	if c.KeepBytes > 0 && c.KeepBytes < minKeepBytes {
		wrong("--keep-size: less than 1M cannot be kept")
	}
	if err := c.checkUpload(); err != nil {
		problems = append(problems, err)
	}
	if c.KeepTotalBytes > 0 && c.KeepTotalBytes < max(c.KeepBytes, minKeepBytes) {
		wrong("--keep-total-size: it counts this recording, too, so it is not less than --keep-size, or 1M")
	}
	if c.KeepTotalAge > 0 && c.KeepTotalAge < c.KeepAge {
		wrong("--keep-total-age: it counts for this recording, too, so it is not less than --keep-age")
	}
	triggers, err := trigger.ParseAll(c.Triggers)
	if err != nil {
		wrong("--trigger: %w", err)
	}
	result.triggers = triggers
	if c.isRing() && slices.ContainsFunc(result.triggers, func(d trigger.Definition) bool { return slices.Contains(d.Actions, trigger.Rotate) }) {
		wrong("--trigger: with --ring nothing is on disk but snapshots, and nothing can be rotated")
	}
	if !slices.Contains(attaching.SiteModes(), c.Sites) {
		wrong("sites are entries, callers or both, not %s", c.Sites)
	}
	if c.Scheduling != SchedulingOff && !slices.Contains(Schedulings(), c.Scheduling) {
		wrong("of the scheduler callbacks or full can be recorded, not %s", c.Scheduling)
	}
	if c.Profile != "" && !slices.Contains(probes.Profiles(), c.Profile) {
		wrong("profiles are minimal, standard or full, not %s", c.Profile)
	}
	if !(c.MaxOverhead >= 0 && c.MaxOverhead <= 1) {
		wrong("the overhead is limited to a part of a thread's time, from 0%% to 100%%")
	}
	if c.PIDs != "" {
		if _, err := target.ParsePIDs(c.PIDs); err != nil {
			problems = append(problems, err)
		}
	}
	if c.Name != "" {
		expression, err := regexp.Compile(c.Name)
		if err != nil {
			wrong("--name: %w", err)
		}
		result.name = expression
	}
	for _, text := range c.Attributes {
		attribute, err := trace.ParseAttribute(text)
		if err != nil {
			wrong("--attribute: %w", err)
			continue
		}
		if slices.ContainsFunc(result.attributes, func(other trace.Attribute) bool { return other.Key == attribute.Key }) {
			wrong("--attribute: %s has two values", attribute.Key)
		}
		result.attributes = append(result.attributes, attribute)
	}
	if len(result.attributes) > maxAttributes {
		wrong("a recording has at most %d attributes", maxAttributes)
	}
	for _, list := range []struct {
		flag        string
		expressions []string
		into        *[]*regexp.Regexp
	}{
		{"--select-node", c.SelectNodes, &result.filter.SelectNodes},
		{"--ignore-node", c.IgnoreNodes, &result.filter.IgnoreNodes},
		{"--select-topic", c.SelectTopics, &result.filter.SelectTopics},
		{"--ignore-topic", c.IgnoreTopics, &result.filter.IgnoreTopics},
	} {
		for _, text := range list.expressions {
			expression, err := regexp.Compile(text)
			if err != nil {
				wrong("%s: %w", list.flag, err)
			}
			*list.into = append(*list.into, expression)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return result, nil
}

// minRotateEvery is the least time between two rotations that are made without being asked for.
const minRotateEvery = time.Second

// checkUpload checks what becomes of finished datasets.
func (c *Configuration) checkUpload() error {
	switch {
	case c.RotateEvery < 0 || c.RotateEvery > 0 && c.RotateEvery < minRotateEvery:
		return fmt.Errorf("%w: --rotate-every: less than %v is too little", ErrConfiguration, minRotateEvery)
	case c.RotateEvery > 0 && c.isRing():
		return fmt.Errorf("%w: --rotate-every: with --ring nothing is on disk but snapshots, and nothing can be rotated", ErrConfiguration)
	case c.Upload == "" && (c.UploadBandwidth != 0 || c.UploadDeleteAfter != nil):
		return fmt.Errorf("%w: --upload-bandwidth and --upload-delete-after go with --upload", ErrConfiguration)
	case c.Upload != "" && (c.KeepAge > 0 || c.KeepBytes > 0 || c.KeepSegments > 0):
		return fmt.Errorf("%w: --keep-age, --keep-size and --keep-segments would remove what has not arrived: with --upload say when to delete by --upload-delete-after",
			ErrConfiguration)
	}
	return nil
}

// isRing says that only the newest rows are kept, in memory.
func (c *Configuration) isRing() bool { return c.RingAge > 0 || c.RingBytes > 0 }

// systemWide says that processes that are not there yet have to be recorded from their first event.
func (c *compiled) systemWide() bool { return c.PIDs == "" }

// attaching says what is to be attached.
func (c *compiled) attaching(options Options, links trace.Links) attaching.Options {
	return attaching.Options{
		Shared: links.Shared, ToCome: c.systemWide(), ShadowStacks: loader.MayHaveShadowStacks(),
		Driven: options.Driven, Sites: c.Sites, Profile: c.Profile, MaxOverhead: c.MaxOverhead, Costs: options.Costs, Trusted: options.Trusted,
	}
}
