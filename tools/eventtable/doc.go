// Command eventtable writes into docs/events.md which events recordings of real ROS 2 programs hold, with which
// provenance, and which of their fields are null. scripts/event-table.sh makes the recordings.
package main
