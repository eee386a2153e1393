// Loads a program as a component container loads a component: with dlopen, by a process that has rclcpp already.
#include <dlfcn.h>

#include <cstdio>
#include <string>

int main(int argc, char **argv) {
  void *const component = dlopen((std::string(argv[0]) + ".so").c_str(), RTLD_LAZY);
  if (!component) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  // int component_main(int, char **)
  const auto run = reinterpret_cast<int (*)(int, char **)>(dlsym(component, "_Z14component_mainiPPc"));
  if (!run) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  return run(argc, argv);
}
