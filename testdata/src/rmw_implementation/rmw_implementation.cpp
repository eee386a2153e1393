// Loads the library that RMW_IMPLEMENTATION names at the first call and forwards to it through
// function pointers.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "rmw/rmw.h"

namespace {

void *load() {
  const char *const chosen = std::getenv("RMW_IMPLEMENTATION");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : "rmw_fastrtps_cpp";
  void *const library = dlopen(("lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "rmw_implementation: %s\n", dlerror());
    std::exit(EXIT_FAILURE);
  }
  return library;
}

void *symbol(const char *name) {
  static void *const library = load();
  void *const address = dlsym(library, name);
  if (address == nullptr) {
    std::fprintf(stderr, "rmw_implementation: %s\n", dlerror());
    std::exit(EXIT_FAILURE);
  }
  return address;
}

}  // namespace

#define X(type, name, parameters, arguments)                                     \
  type name parameters {                                                         \
    static type(*const function) parameters = (type(*) parameters)symbol(#name); \
    return function arguments;                                                   \
  }
RMW_FUNCTIONS(X)
