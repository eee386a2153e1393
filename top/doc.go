// Package top shows on a terminal what a recording has had in the last seconds, anew every second: tables of callbacks,
// topics, nodes and paths, which keys sort and filter.
package top
