// Package probes knows where stock ROS 2 binaries show CARET's events, and plans where to attach to a process.
//
// The catalogue is a table with one row an event: what its arguments mean and which functions show it, per
// distribution. A Plan is that table applied to the libraries of one process: for every event the instructions to
// probe, or the reason why there are none. Nothing here attaches; package loader does.
package probes
