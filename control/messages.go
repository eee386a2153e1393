package control

// Status is how a recording is.
type Status struct {
	// PID is the recorder's, Version its version, Output the dataset's directory as it was given.
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Output  string `json:"output"`
	// State is as in session.json.
	State string `json:"state"`
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
}

// Ring is the kernel's buffer, in bytes: its size, what waits in it, and the most that ever did.
type Ring struct {
	Bytes   int `json:"bytes"`
	Pending int `json:"pending"`
	Peak    int `json:"peak"`
}

// Problem is the answer to what cannot be done.
type Problem struct {
	Error string `json:"error"`
}

// The paths of requests.
const (
	pathStatus = "/v1/status"
	pathFlush  = "/v1/flush"
	pathStop   = "/v1/stop"
)
