// Package scan has what all that read row groups of a dataset share: goroutines for the groups, the damages that they
// meet, their progress, and the span of a group.
package scan
