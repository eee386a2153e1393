// Jazzy's packages are built with LTTng: a tracepoint tests a state word and returns when it is
// zero, which it always is here.
#include "tracetools/tracetools.h"

struct lttng_ust_tracepoint {
  uint32_t struct_size;
  const char *provider_name;
  const char *event_name;
  int state;
  void **probes;  // functions, null-terminated
};
_Static_assert(offsetof(struct lttng_ust_tracepoint, state) == 0x18, "as in lttng-ust 2.13");

static inline bool is_on(const struct lttng_ust_tracepoint *tracepoint) {
  return __builtin_expect(*(const volatile int *)&tracepoint->state, 0) != 0;
}

static inline void **probes_of(const struct lttng_ust_tracepoint *tracepoint) {
  return *(void **const volatile *)&tracepoint->probes;
}

#define X(event, parameters, arguments)                                                          \
  __attribute__((                                                                                \
      visibility("hidden"))) struct lttng_ust_tracepoint lttng_ust_tracepoint_ros2___##event = { \
      sizeof(struct lttng_ust_tracepoint), "ros2", #event, 0, NULL};                             \
  static inline void call_probes_##event parameters {                                            \
    void **probe = probes_of(&lttng_ust_tracepoint_ros2___##event);                              \
    if (probe == NULL) return;                                                                   \
    do {                                                                                         \
      ((void(*) parameters) * probe) arguments;                                                  \
    } while (*++probe != NULL);                                                                  \
  }                                                                                              \
  bool ros_trace_enabled_##event(void) { return is_on(&lttng_ust_tracepoint_ros2___##event); }   \
  void ros_trace_do_##event parameters {                                                         \
    if (is_on(&lttng_ust_tracepoint_ros2___##event)) call_probes_##event arguments;              \
  }                                                                                              \
  void ros_trace_##event parameters {                                                            \
    if (is_on(&lttng_ust_tracepoint_ros2___##event)) call_probes_##event arguments;              \
  }
#include "tracetools/events.h"
