// Package programs generates random ROS 2 programs, compiles them against an installed distribution, and compares
// recordings of them with what they say of themselves.
//
// A program is a function of its seed. It logs each callback that it executes, each message that it publishes, receives
// or polls, and each service call, with the thread and the clock just before and just after. It does not know what
// rclcpp passes to tracepoints: a recorder that misreads an address gets no help here.
package programs
