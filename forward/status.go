package forward

import (
	"fmt"
	"strings"
	"time"
)

// maxFailed bounds the datasets that a status names.
const maxFailed = 16

// Status says what has arrived, and what waits.
type Status struct {
	// To is the lake.
	To string `json:"to"`
	// Waiting are the finished datasets that have not arrived, WaitingBytes those of their files.
	Waiting      int   `json:"waiting"`
	WaitingBytes int64 `json:"waiting_bytes"`
	// Arrived are the datasets in the folder that are in the lake. ArrivedNow and ArrivedBytes are what this process has
	// brought there, in bytes of the lake.
	Arrived      int   `json:"arrived"`
	ArrivedNow   int   `json:"arrived_now"`
	ArrivedBytes int64 `json:"arrived_bytes"`
	// Failed are the first of those that could not be published, or not deleted, FailedCount is how many there are.
	Failed      []Failure `json:"failed"`
	FailedCount int       `json:"failed_count"`
	// Recording are the datasets whose recorder goes on: they are not published before it ends.
	Recording int `json:"recording"`
	// Gone are those that somebody has removed before they had arrived, Deleted those that were deleted after.
	Gone    int `json:"gone"`
	Deleted int `json:"deleted"`
	// Current is the dataset that is being published.
	Current string `json:"current,omitempty"`
	// OfflineSince is since when the lake cannot be used, as far as this process has noticed; nil: it could when it was
	// last asked. Offline says why.
	OfflineSince *time.Time `json:"offline_since,omitempty"`
	Offline      string     `json:"offline,omitempty"`
}

// Failure says why a dataset was not published, or not deleted.
type Failure struct {
	Dataset  string    `json:"dataset"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
	Next     time.Time `json:"next_attempt"`
}

// String is one line.
func (s Status) String() string {
	parts := []string{fmt.Sprintf("%d arrived", s.Arrived), fmt.Sprintf("%d wait (%.1f MB)", s.Waiting, float64(s.WaitingBytes)/1e6)}
	if s.FailedCount > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.FailedCount))
	}
	if s.Recording > 0 {
		parts = append(parts, fmt.Sprintf("%d being recorded", s.Recording))
	}
	if s.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted", s.Deleted))
	}
	if s.Gone > 0 {
		parts = append(parts, fmt.Sprintf("%d removed before they had arrived", s.Gone))
	}
	if s.OfflineSince != nil {
		parts = append(parts, "offline since "+s.OfflineSince.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return strings.Join(parts, "  ")
}
