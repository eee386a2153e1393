// The name that CARET shows for a callback: the function's type, demangled.
#pragma once

#include <typeinfo>

// Exported by libtracetools.so. The caller frees the result.
char *_demangle_symbol(const char *mangled);

namespace tracetools {

template <typename Function>
char *get_symbol(const Function &) {
  return _demangle_symbol(typeid(Function).name());
}

}  // namespace tracetools
