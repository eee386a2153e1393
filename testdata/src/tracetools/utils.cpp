#include "tracetools/utils.hpp"

#include <cxxabi.h>

#include <cstring>

char *_demangle_symbol(const char *mangled) {
  int status = 0;
  char *const demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  return status == 0 ? demangled : strdup(mangled);
}
