// Package target finds ROS 2 processes and tells what a recorder must know about each: its identity, the ELF
// files it maps, its distribution and RMW implementation, the libraries it will map later, and its memory.
//
// Everything is read from /proc and with process_vm_readv: nothing stops, signals or writes to a target. Processes
// in other mount and PID namespaces (containers) are seen like those of the host; their files are reached
// through /proc/PID/map_files and /proc/PID/root.
package target
