package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// SessionFile is the name of the file that describes the recording, in the dataset's directory.
const SessionFile = "session.json"

// FormatVersion is the dataset format that this package reads and writes. It grows when a reader of the former version
// would misread a dataset; new tables and new nullable columns do not change it.
const FormatVersion = 3

// State is a state in the life of a recording.
type State string

// The states, in order. A recording that is in none but Stopped and whose recorder is gone was killed.
const (
	StateConfigured State = "configured"
	StateArmed      State = "armed"
	StateRecording  State = "recording"
	StateFlushing   State = "flushing"
	StateStopped    State = "stopped"
)

// Ending says why a recording ended.
type Ending string

const (
	// EndingRunning is in session.json until the recording has ended.
	EndingRunning Ending = "running"
	// EndingSignal is an interrupt by the user.
	EndingSignal Ending = "signal"
	// EndingRequest is a request through the control socket.
	EndingRequest Ending = "request"
	// EndingDuration is the time limit.
	EndingDuration Ending = "duration"
	// EndingRows, EndingSize and EndingFreeSpace are bounds of the dataset and of what is left of the disk.
	EndingRows      Ending = "rows"
	EndingSize      Ending = "size"
	EndingFreeSpace Ending = "free_space"
	// EndingSnapshot is none: the dataset is a part of a recording that may go on.
	EndingSnapshot Ending = "snapshot"
	// EndingTargetsExited is the end of all traced processes.
	EndingTargetsExited Ending = "targets_exited"
	// EndingError is an error, which Session.Error tells.
	EndingError Ending = "error"
)

// Session is the content of session.json.
type Session struct {
	FormatVersion int      `json:"format_version"`
	Recorder      Recorder `json:"recorder"`
	Host          Host     `json:"host"`
	// Configuration is what the user asked for, as the session's package defines it.
	Configuration json.RawMessage `json:"configuration,omitempty"`
	// Attributes are what the user has noted of the recording, such as the vehicle or the route.
	Attributes map[string]string `json:"attributes,omitempty"`
	Targets    []Target          `json:"targets"`
	Plan       Plan              `json:"plan"`
	// Links says for whom probes were made. Recordings of caret-bpf before it chose have none.
	Links *Links `json:"links,omitempty"`
	// LinkChanges say when all links were replaced, because processes had come or gone, in the order of time.
	LinkChanges []LinkChange `json:"link_changes,omitempty"`
	// State is the last state of History.
	State   State         `json:"state"`
	History []StateChange `json:"history"`
	// Clock is the offset that all timestamps of the dataset use.
	Clock Clock `json:"clock"`
	// Rows is the number of rows written to each table.
	Rows map[string]uint64 `json:"rows"`
	// Unstored is the number of rows that were made and are not in the dataset, for want of disk space for example.
	Unstored map[string]uint64 `json:"unstored_rows,omitempty"`
	Losses   []LossTotal       `json:"losses"`
	// Unarmed is how many rows of table loss say that a file was mapped and not probed.
	Unarmed int `json:"unarmed,omitempty"`
	// Undecided is how often a process ran ROS 2 and was over before it was known whether the user wants it: nothing of it
	// was recorded, and nothing else tells of it.
	Undecided int `json:"undecided,omitempty"`
	// Overhead is what the recording cost the traced threads; nil until it has ended.
	Overhead *Overhead `json:"overhead,omitempty"`
	Warnings []string  `json:"warnings"`
	// Removed says what was removed while the recording went on, because only so much is kept; nil if nothing was.
	Removed *Removed `json:"removed,omitempty"`
	// Snapshot says of which part of a recording the dataset is a copy; nil for a recording.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Triggers are what was waited for, and how often it came.
	Triggers []TriggerCount `json:"triggers,omitempty"`
	// Uploads say what of the datasets beside the recording had arrived in a lake; nil where nothing is put into one.
	Uploads *Uploads `json:"uploads,omitempty"`
	// Changes are what was changed of the recording while it went on, in the order of time.
	Changes []Change `json:"changes,omitempty"`
	// Unstamped are the types of messages whose header.stamp was not read: their rows have no message_timestamp.
	Unstamped []UnstampedType `json:"unstamped_types,omitempty"`
	// Unresolved says which addresses stay without names, and why: what existed before the recording and memory did not
	// prove.
	Unresolved []string `json:"unresolved,omitempty"`
	Ending     Ending   `json:"ending"`
	// Error is the error that ended the recording.
	Error string `json:"error,omitempty"`
}

// Removed says what a recording has not kept.
type Removed struct {
	// Rows are the numbers of rows, by table.
	Rows map[string]uint64 `json:"rows"`
	// Until is since when the dataset has everything that was recorded, in Unix nanoseconds. Of what happened before it
	// has a part.
	Until int64 `json:"until"`
}

// Snapshot says of which part of a recording a dataset is a copy.
type Snapshot struct {
	// Span is what was asked for, of which a row has at least a part.
	Span
	// Timestamp is when it was asked for, in Unix nanoseconds.
	Timestamp int64 `json:"timestamp"`
	// Reason is who asked, and why.
	Reason string `json:"reason"`
	// Trigger is what had come; nil where somebody has asked.
	Trigger *Trigger `json:"trigger,omitempty"`
	// HeldFrom is since when the recording had everything: since it began or, if that is later, since when all was kept.
	// If it is later than Span.First, of what happened before there is a part at most.
	HeldFrom int64 `json:"held_from"`
}

// Trigger is something that was waited for, and has come.
type Trigger struct {
	Name string `json:"name"`
	// Definition is what was to be waited for, as it was given.
	Definition string `json:"definition"`
	// Timestamp is when it came, in Unix nanoseconds.
	Timestamp int64 `json:"timestamp"`
	// Reason is what came.
	Reason string `json:"reason"`
	// Table and Row are the row in which it was seen; empty where it was none.
	Table string          `json:"table,omitempty"`
	Row   json.RawMessage `json:"row,omitempty"`
}

// TriggerCount says how often something came that was waited for.
type TriggerCount struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	// Fired is how often it was acted upon, Suppressed how often it came beside that: in a cool-down, or too often for a
	// day.
	Fired      uint64 `json:"fired"`
	Suppressed uint64 `json:"suppressed"`
	// Last is when it last came, in Unix nanoseconds; 0: never.
	Last int64 `json:"last,omitempty"`
	// Output is the dataset that was last made because of it, a snapshot or what was rotated; "" if none was.
	Output string `json:"output,omitempty"`
	// Failed is how many of its actions were not done, or not to their end.
	Failed uint64 `json:"failed,omitempty"`
}

// Uploads say how far the datasets beside a recording have come on their way into a lake: when session.json was last
// written, and of this recorder's process where they count what was done.
type Uploads struct {
	To string `json:"to"`
	// Arrived are those in the folder that are in the lake, Waiting those that are not, with their bytes.
	Arrived      int   `json:"arrived"`
	Waiting      int   `json:"waiting"`
	WaitingBytes int64 `json:"waiting_bytes"`
	// Failed are those that could not be put there, or not be deleted; Reason is why, of one of them, or why the lake
	// cannot be used.
	Failed int    `json:"failed"`
	Reason string `json:"reason,omitempty"`
	// OfflineSince is since when the lake cannot be used, in Unix nanoseconds; 0: it could.
	OfflineSince int64 `json:"offline_since,omitempty"`
	// Sent are the datasets that were put there, with their bytes in the lake, Deleted those that were deleted then, Gone
	// those that somebody had removed before they arrived.
	Sent      int   `json:"sent"`
	SentBytes int64 `json:"sent_bytes"`
	Deleted   int   `json:"deleted"`
	Gone      int   `json:"gone"`
}

// Change is something that was changed of a recording while it went on.
type Change struct {
	// Timestamp is when it had taken effect, in Unix nanoseconds.
	Timestamp int64 `json:"timestamp"`
	// What names a setting (as `record` does without its dashes), or says what was done: added, removed, rotated.
	What string `json:"what"`
	// Value is the setting's new value; the process that was added or removed; where rows were moved, and how many.
	Value json.RawMessage `json:"value"`
}

// What can be done to a recording beside changing its settings.
const (
	ChangeAdded   = "added"
	ChangeRemoved = "removed"
	ChangeRotated = "rotated"
)

// Links says for whom probes were made: for each process alone, or for every one. What is not to be probed for every
// one, or cannot be, is probed for each process alone nevertheless.
type Links struct {
	// Shared says that they were made for every process.
	Shared bool `json:"shared"`
	// Recorded and Others are the processes of ROS 2 that were to be recorded, and that were not, where that decided it.
	Recorded int `json:"recorded,omitempty"`
	Others   int `json:"others,omitempty"`
}

// LinkChange says for whom probes were made from an instant on, in nanoseconds since the epoch.
type LinkChange struct {
	Timestamp int64 `json:"timestamp"`
	Links
}

// String says for whom, and of how many processes that was decided.
func (l *Links) String() string {
	text := "for each process"
	if l.Shared {
		text = "for every process"
	}
	if l.Recorded > 0 {
		text += fmt.Sprintf(", of %d that are recorded and %d others that run ROS 2", l.Recorded, l.Others)
	}
	return text
}

// Recorder is the program that made the dataset, and its process.
type Recorder struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
}

// Host is the machine on which the recording was made.
type Host struct {
	Name    string `json:"name"`
	Kernel  string `json:"kernel"`
	Machine string `json:"machine"`
	BootID  string `json:"boot_id"`
}

// Target is a process that the recording was to observe.
type Target struct {
	PID int `json:"pid"`
	// ProcessStart is in nanoseconds since boot.
	ProcessStart      int64  `json:"process_start"`
	NamespacePID      int    `json:"namespace_pid,omitempty"`
	Command           string `json:"command"`
	Executable        string `json:"executable"`
	Distro            string `json:"distro,omitempty"`
	RMWImplementation string `json:"rmw_implementation,omitempty"`
}

// Plan is where the recording observed its targets, and what it could not observe.
type Plan struct {
	Sites   []Site         `json:"sites"`
	Missing []MissingEvent `json:"missing"`
}

// Site is one probed instruction.
type Site struct {
	Event   string `json:"event"`
	File    string `json:"file"`
	BuildID string `json:"build_id,omitempty"`
	Symbol  string `json:"symbol,omitempty"`
	// Offset is the file offset of the instruction.
	Offset uint64 `json:"offset"`
	// Class is the cost class of the site.
	Class string `json:"class"`
	// Role tells callers of an event's function, and bodies that are probed beside them, from other functions.
	Role string `json:"role,omitempty"`
	// PIDs are the processes it was attached for; empty means all.
	PIDs []int `json:"pids,omitempty"`
}

// MissingEvent is an event that was not observed, and why.
type MissingEvent struct {
	Event  string `json:"event"`
	Reason string `json:"reason"`
	PIDs   []int  `json:"pids,omitempty"`
}

// UnstampedType is a type of messages of which it is not known where they have their header, and why.
type UnstampedType struct {
	MessageType string `json:"message_type"`
	Reason      string `json:"reason"`
	PIDs        []int  `json:"pids,omitempty"`
}

// MissingEvents returns the names of the events that were not observed, or not in all processes, in the order of the
// plan.
func (s *Session) MissingEvents() []string {
	var names []string
	for _, missing := range s.Plan.Missing {
		if !slices.Contains(names, missing.Event) {
			names = append(names, missing.Event)
		}
	}
	return names
}

// UnstampedTypes returns the names of the types of messages whose header.stamp was not read, or not in all processes,
// in the order of the list.
func (s *Session) UnstampedTypes() []string {
	var names []string
	for _, unstamped := range s.Unstamped {
		if !slices.Contains(names, unstamped.MessageType) {
			names = append(names, unstamped.MessageType)
		}
	}
	return names
}

// StateChange is the entry into a state.
type StateChange struct {
	State State `json:"state"`
	// Timestamp is in Unix nanoseconds.
	Timestamp int64 `json:"timestamp"`
}

// LossTotal is the sum of the losses of a kind for a reason.
type LossTotal struct {
	Kind   LossKind   `json:"kind"`
	Reason LossReason `json:"reason"`
	Count  uint64     `json:"count"`
}

// NewSession returns a session of the current format that is still running and has no state yet.
func NewSession() *Session {
	return &Session{FormatVersion: FormatVersion, Ending: EndingRunning}
}

// Enter appends a state to the history.
func (s *Session) Enter(state State, at time.Time) {
	s.State = state
	s.History = append(s.History, StateChange{State: state, Timestamp: at.UnixNano()})
}

// EncodeSession returns the content of session.json. Empty lists are written as such, not as null.
func EncodeSession(s *Session) ([]byte, error) {
	c := *s
	c.Targets = nonNil(c.Targets)
	c.Plan.Sites = nonNil(c.Plan.Sites)
	c.Plan.Missing = nonNil(c.Plan.Missing)
	c.History = nonNil(c.History)
	c.Losses = nonNil(c.Losses)
	c.Warnings = nonNil(c.Warnings)
	if c.Rows == nil {
		c.Rows = map[string]uint64{}
	}
	text, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", SessionFile, err)
	}
	return append(text, '\n'), nil
}

// DecodeSession reads the content of session.json. It fails with ErrNewerFormat when a later version of caret-bpf wrote
// it.
func DecodeSession(text []byte) (*Session, error) {
	var version struct {
		FormatVersion int `json:"format_version"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&version); err != nil {
		return nil, fmt.Errorf("decode %s: %w", SessionFile, err)
	}
	if version.FormatVersion > FormatVersion {
		return nil, fmt.Errorf("%w: %s has format version %d, this caret-bpf reads up to %d: use a newer caret-bpf",
			ErrNewerFormat, SessionFile, version.FormatVersion, FormatVersion)
	}
	if version.FormatVersion < 1 {
		return nil, fmt.Errorf("decode %s: format_version is missing", SessionFile)
	}
	s := new(Session)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("decode %s: %w", SessionFile, err)
	}
	return s, nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
