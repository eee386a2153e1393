package entities

import (
	"strconv"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxInterfaceName bounds the name of a message or service type in a type support library's symbols.
const maxInterfaceName = 512

// messageType returns the ROS name ("std_msgs/msg/String") of the message type that is the first template argument of a
// class, given the class's mangled name, "" if it is none.
func messageType(typeName string) string {
	name := interfaceType(typeName)
	if message, ok := strings.CutSuffix(name, "_"); ok { // rosidl's templates over an allocator
		return message
	}
	return ""
}

// typeDescriptionArgument is the class that stands, in rclcpp's library, for a service of which it uses rcl's C types.
// Every node has one from Iron on.
const typeDescriptionArgument = "IN12_GLOBAL__N_121GetTypeDescription__CEE"

// serviceType is messageType for the class of a service ("std_srvs/srv/Trigger").
func serviceType(typeName string) string {
	if strings.Contains(typeName, typeDescriptionArgument) {
		return "type_description_interfaces/srv/GetTypeDescription"
	}
	return interfaceType(typeName)
}

// interfaceType returns the first template argument of a class, if it is a class package::msg::Name or its like.
func interfaceType(typeName string) string {
	_, rest, ok := nestedName(typeName)
	if !ok || !strings.HasPrefix(rest, "I") {
		return ""
	}
	parts, rest, ok := nestedName(rest[1:])
	if !ok || len(parts) != 3 || rest == "" {
		return ""
	}
	switch parts[1] {
	case "msg", "srv", "action":
		return strings.Join(parts, "/")
	}
	return ""
}

// nestedName parses the names of N <source-name>+ of the Itanium C++ ABI's mangling, up to what is not a name.
func nestedName(mangled string) (parts []string, rest string, ok bool) {
	rest, ok = strings.CutPrefix(mangled, "N")
	if !ok {
		return nil, "", false
	}
	for {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits == 0 {
			return parts, rest, len(parts) > 0
		}
		length, err := strconv.Atoi(rest[:digits])
		if err != nil || length == 0 || length > len(rest)-digits {
			return nil, "", false
		}
		parts = append(parts, rest[digits:digits+length])
		rest = rest[digits+length:]
	}
}

// messageTypeOf returns the ROS name of the type that a publisher or subscription of a class carries, "" if unknown.
// The class tells, unless it adapts another type or is generic: then the type support does.
func (r reader) messageTypeOf(typeName string, typeSupport trace.Address) string {
	if name := messageType(typeName); name != "" {
		return name
	}
	return r.supportedType(typeSupport)
}

// supportedType reads the ROS name of a type from its rosidl_message_type_support_t, as rosidl_typesupport_c and _cpp
// make it: its data is a table whose names of symbols end in the type's name.
func (r reader) supportedType(typeSupport trace.Address) string {
	identifier, err := r.namePointer(typeSupport, isBaseName)
	if err != nil || identifier != "rosidl_typesupport_cpp" && identifier != "rosidl_typesupport_c" {
		return ""
	}
	table, err := r.pointer(typeSupport + wordSize)
	if err != nil {
		return ""
	}
	names, err := r.pointer(table + 3*wordSize) // after the size, the package's name and the identifiers
	if err != nil {
		return ""
	}
	first, err := r.word(names)
	if err != nil {
		return ""
	}
	symbol, err := r.cString(trace.Address(first), maxInterfaceName)
	if err != nil || !isBaseNameOf(symbol, maxInterfaceName) {
		return ""
	}
	_, name, ok := strings.Cut(symbol, "__get_message_type_support_handle__")
	if !ok {
		return ""
	}
	parts := strings.Split(name, "__")
	if len(parts) != 3 || parts[1] != "msg" && parts[1] != "srv" && parts[1] != "action" {
		return ""
	}
	return strings.Join(parts, "/")
}
