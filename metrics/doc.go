// Package metrics turns the rows of a recording, as they come, into metrics for Prometheus: by the names of nodes,
// topics and callbacks, never by addresses or PIDs, so that a restart goes on with the same series.
package metrics
