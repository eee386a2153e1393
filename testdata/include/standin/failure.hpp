// Failures on demand, for publishes that end early. Nothing in here exists in ROS 2.
#pragma once

namespace failure {

// Where the next publish of this thread shall fail: in rcl_publish before its tracepoint, in
// rmw_publish before its tracepoint, or in the DDS writer after it.
enum class Point { none, rcl, rmw, dds };

void arm(Point point) noexcept;
// True once if the failure armed on this thread is due at `point`.
bool due(Point point) noexcept;

}  // namespace failure
