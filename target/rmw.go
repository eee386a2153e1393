package target

import (
	"slices"
	"strings"
)

// notImplementations are libraries named like an RMW implementation that are none: the library that chooses one, and
// what implementations share.
var notImplementations = []string{"rmw_implementation", "rmw_dds_common", "rmw_fastrtps_shared_cpp", "rmw_security_common"}

// rmwImplementation is the name of the RMW implementation among the modules ("rmw_cyclonedds_cpp"), or "".
func rmwImplementation(modules []Module) string {
	for _, module := range modules {
		for _, fileName := range []string{module.Soname, module.Name()} {
			if name, ok := rmwName(fileName); ok {
				return name
			}
		}
	}
	return ""
}

// rmwName is the implementation's name if a library is called librmw_<name>.so, versions aside.
func rmwName(fileName string) (string, bool) {
	name, version, found := strings.Cut(strings.TrimPrefix(fileName, "lib"), ".so")
	if !found || version != "" && version[0] != '.' || !strings.HasPrefix(fileName, "librmw_") {
		return "", false
	}
	// librmw_dds_common__rosidl_typesupport_cpp.so and its like hold messages.
	if strings.Contains(name, "__") || slices.Contains(notImplementations, name) {
		return "", false
	}
	return name, true
}
