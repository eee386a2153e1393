package control

// Status is how a recording is.
type Status struct {
	// PID is the recorder's, Version its version, Output the absolute path of the dataset's directory, with a ring of
	// the folder of snapshots.
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Output  string `json:"output"`
	// State is as in session.json.
	State string `json:"state"`
	// BeganNs is when the recording began, in Unix nanoseconds; 0: it has not.
	BeganNs int64 `json:"began_ns"`
	// ElapsedNs is the time since the recording began, in nanoseconds.
	ElapsedNs int64 `json:"elapsed_ns"`
	// Processes is the number of processes that are recorded now.
	Processes int `json:"processes"`
	// Rows is the number of rows of each table so far.
	Rows map[string]uint64 `json:"rows"`
	// Lost is the number of records that were lost so far, Unarmed how often a process had mapped a file while it was not
	// probed, Warnings how many warnings were not told because others like them were.
	Lost     uint64 `json:"lost"`
	Unarmed  int    `json:"unarmed"`
	Warnings uint64 `json:"warnings"`
	// Overhead is the highest share of its time that the recording has cost a thread in the last second or so.
	Overhead float64 `json:"overhead"`
	Ring     Ring    `json:"ring"`
	Former   Former  `json:"former"`
	// Uploads are of --upload; nil without it.
	Uploads *Uploads `json:"uploads,omitempty"`
}

// Former are recordings and snapshots in the folder of the recording, as far as it may remove them to keep the folder
// within bounds: how many there are, how large they are together in bytes, and how many it has removed.
type Former struct {
	Kept    int    `json:"kept"`
	Bytes   int64  `json:"bytes"`
	Removed uint64 `json:"removed"`
}

// Uploads say how far the datasets beside the recording have come on their way into a lake.
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
	// OfflineSinceNs is since when the lake cannot be used, in Unix nanoseconds; 0: it could.
	OfflineSinceNs int64 `json:"offline_since_ns"`
	// Sent are those that were put there since the recorder has begun, with their bytes in the lake, Deleted those that
	// were deleted then, Gone those that somebody had removed before they arrived.
	Sent      int   `json:"sent"`
	SentBytes int64 `json:"sent_bytes"`
	Deleted   int   `json:"deleted"`
	Gone      int   `json:"gone"`
}

// Ring is the kernel's buffer, in bytes: its size, what waits in it, and the most that ever did.
type Ring struct {
	Bytes   int `json:"bytes"`
	Pending int `json:"pending"`
	Peak    int `json:"peak"`
}

// RotationRequest asks that what was recorded so far be a dataset of its own.
type RotationRequest struct {
	// Output is the directory of the new dataset; "" has one chosen.
	Output string `json:"output,omitempty"`
	// Reason is noted in the dataset.
	Reason string `json:"reason,omitempty"`
}

// Source is a ROS 2 process that could be recorded, as `caret-bpf list --json` shows it.
type Source struct {
	PID          int32  `json:"pid"`
	NamespacePID int32  `json:"namespace_pid"`
	Command      string `json:"command"`
	Executable   string `json:"executable"`
	Distro       string `json:"distro"`
	// Evidence is what the distribution was concluded from.
	Evidence string `json:"distro_evidence"`
	RMW      string `json:"rmw_implementation"`
	// Events is the number of kinds of events that can be recorded, Missing names the others.
	Events  int      `json:"events"`
	Missing []string `json:"missing"`
}

// Sources are all that there are.
type Sources struct {
	Sources []Source `json:"sources"`
}

// SnapshotRequest asks for a copy of what was recorded.
type SnapshotRequest struct {
	// LastNs is how long before now it begins; BeginNs and EndNs are Unix nanoseconds. 0 each is as far as the recording
	// goes back, and now.
	LastNs  int64 `json:"last_ns,omitempty"`
	BeginNs int64 `json:"begin_ns,omitempty"`
	EndNs   int64 `json:"end_ns,omitempty"`
	// Output is the directory of the new dataset; "" has one chosen.
	Output string `json:"output,omitempty"`
	// Reason is noted in the dataset.
	Reason string `json:"reason,omitempty"`
}

// Snapshot is a copy that was made.
type Snapshot struct {
	// Output is the absolute path of the new dataset's directory.
	Output  string `json:"output"`
	BeginNs int64  `json:"begin_ns"`
	EndNs   int64  `json:"end_ns"`
	// HeldFromNs is since when the recording has everything: since it began, or later.
	HeldFromNs int64             `json:"held_from_ns"`
	Rows       map[string]uint64 `json:"rows"`
}

// Settings are those of a recording that can be changed while it goes on.
type Settings struct {
	// Profile is minimal, standard or full.
	Profile string `json:"profile"`
	// MaxOverhead is the share of a thread's time that the recording may cost; 0 means no limit.
	MaxOverhead float64 `json:"max_overhead"`
	// SelectNodes to IgnoreTopics are regular expressions.
	SelectNodes  []string `json:"select_nodes"`
	IgnoreNodes  []string `json:"ignore_nodes"`
	SelectTopics []string `json:"select_topics"`
	IgnoreTopics []string `json:"ignore_topics"`
}

// SettingsChange is what of the settings is to be other than it is. What is nil stays as it is.
type SettingsChange struct {
	Profile      *string   `json:"profile,omitempty"`
	MaxOverhead  *float64  `json:"max_overhead,omitempty"`
	SelectNodes  *[]string `json:"select_nodes,omitempty"`
	IgnoreNodes  *[]string `json:"ignore_nodes,omitempty"`
	SelectTopics *[]string `json:"select_topics,omitempty"`
	IgnoreTopics *[]string `json:"ignore_topics,omitempty"`
}

// Target is a process that is recorded.
type Target struct {
	PID int32 `json:"pid"`
	// ProcessStart is when it began, in nanoseconds since boot: a PID can be reused.
	ProcessStart int64  `json:"process_start"`
	Command      string `json:"command"`
}

// Targets are all that are recorded now.
type Targets struct {
	Targets []Target `json:"targets"`
}

// Probe is an instruction that is probed now.
type Probe struct {
	Event string `json:"event"`
	// File is the library or program that it is in.
	File    string `json:"file"`
	BuildID string `json:"build_id"`
	// Symbol is the function that has it, Offset its place in the file.
	Symbol string `json:"symbol"`
	Offset uint64 `json:"offset"`
	// Class says how the kernel executes it, Role tells callers and bodies of an event's function from others.
	Class string `json:"class"`
	Role  string `json:"role"`
	// CostNs is what a hit is expected to take, in nanoseconds.
	CostNs int64 `json:"cost_ns"`
	// PIDs are the processes that have it alone; none: every process that maps the file has it.
	PIDs []int `json:"pids"`
}

// Probes are all that there are now.
type Probes struct {
	Probes []Probe `json:"probes"`
}

// TargetRequest names a process.
type TargetRequest struct {
	PID int32 `json:"pid"`
}

// Trigger says how often something has come that is waited for, and what came of it.
type Trigger struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	// Fired is how often it was acted upon, Suppressed how often it came beside that.
	Fired      uint64 `json:"fired"`
	Suppressed uint64 `json:"suppressed"`
	// LastNs is when it last came, in Unix nanoseconds; 0: never.
	LastNs int64 `json:"last_ns"`
	// Output is the dataset that was last made because of it, "" if none was; Failed is how many of its actions were not
	// done.
	Output string `json:"output"`
	Failed uint64 `json:"failed"`
}

// Triggers are all that there are.
type Triggers struct {
	Triggers []Trigger `json:"triggers"`
}

// FireRequest says why a trigger is fired.
type FireRequest struct {
	Reason string `json:"reason,omitempty"`
}

// Problem is the answer to what cannot be done.
type Problem struct {
	Error string `json:"error"`
}

// The paths of requests.
const (
	pathStatus   = "/v1/status"
	pathSources  = "/v1/sources"
	pathStart    = "/v1/start"
	pathFlush    = "/v1/flush"
	pathStop     = "/v1/stop"
	pathSnapshot = "/v1/snapshot"
	pathRotate   = "/v1/rotate"
	pathSettings = "/v1/settings"
	pathTargets  = "/v1/targets"
	pathAdd      = "/v1/targets/add"
	pathRemove   = "/v1/targets/remove"
	pathProbes   = "/v1/probes"
	pathTriggers = "/v1/triggers"
	pathFire     = "/v1/triggers/{name}/fire"
)

// LivePath is where programs ask what a recording has had of late.
const LivePath = "/v1/live"
