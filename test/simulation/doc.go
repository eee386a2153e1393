// Package simulation runs random ROS 2 systems that do not exist, writes what a recorder would have seen of them, and
// compares every answer of package analyze with what really happened.
//
// A system is a function of its seed. It moves messages from publishers to subscriptions one event after the other, so
// it knows which message went where: nothing of that is concluded from recorded rows. What is a definition (which input
// is the latest one at a time) is applied to the times as they were recorded.
package simulation
