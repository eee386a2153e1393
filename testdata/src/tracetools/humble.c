// Humble's packages are built without LTTng: every body is `endbr64; ret`.
#include "tracetools/tracetools.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define X(event, parameters, arguments) \
  void ros_trace_##event parameters {}
#include "tracetools/events.h"
