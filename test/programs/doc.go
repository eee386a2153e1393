// Package programs generates random ROS 2 programs, compiles them against an installed distribution, and compares recordings of them
// with what they say of themselves.
//
// A program is a function of its seed. It logs each callback that it executes, each message that it publishes, receives or polls, and
// each service call, with the thread and the clock just before and just after. What rclcpp calls its tracepoints with it does not know:
// a recorder that misreads an address gets no help here.
package programs
