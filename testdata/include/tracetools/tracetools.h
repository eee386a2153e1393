// The exported functions of libtracetools.so. Jazzy has, besides ros_trace_<event>, a query whether
// the event is on and a function that skips the query.
#ifndef TRACETOOLS_TRACETOOLS_H
#define TRACETOOLS_TRACETOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef STANDIN_HUMBLE
#define X(event, parameters, arguments) void ros_trace_##event parameters;
#else
#define X(event, parameters, arguments) \
  void ros_trace_##event parameters;    \
  bool ros_trace_enabled_##event(void); \
  void ros_trace_do_##event parameters;
#endif
#include "tracetools/events.h"
#undef X

#ifdef __cplusplus
}
#endif

#endif
