package target

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// The tables of rosidl_typesupport_introspection_cpp, on 64-bit machines.
const (
	// rosidl_message_type_support_t: the identifier of the type support, then the MessageMembers.
	typeSupportData = 8

	// MessageMembers: namespace, name, uint32 number of members, size of the message, and the members, which from Jazzy on
	// come after a bool.
	membersName           = 8
	membersCount          = 16
	membersMessageSize    = 24
	membersArray          = 32
	membersArrayFromJazzy = 40
	membersSize           = 48

	// MessageMember: name, uint8 type, uint32 offset in the message. In front of the bool that tells arrays, Jazzy has put
	// another.
	memberType             = 8
	memberIsArray          = 32
	memberIsArrayFromJazzy = 33
	memberOffset           = 52
	memberSize             = 112

	typeIDMessage = 18 // ROS_TYPE_MESSAGE
)

// errNotIntrospection: the library's tables are not those of the message, or not in the file.
var errNotIntrospection = errors.New("no introspection tables that fit the message definition")

// introspectedOffset is where a field that is one message is in the message's C++ struct, according to the tables in
// the package's library lib<package>__rosidl_typesupport_introspection_cpp.so. The tables are believed if they tell
// exactly the fields of the definition, in their order, at increasing offsets.
func introspectedOffset(library *elffile.File, of messageType, fields []messageField, index int) (uint64, error) {
	symbol, err := library.Lookup(fmt.Sprintf("rosidl_typesupport_introspection_cpp__get_message_type_support_handle__%s__%s__%s",
		of.pkg, of.namespace, of.name))
	if err != nil {
		return 0, err
	}
	handle, err := library.ReturnedAddress(symbol)
	if err != nil {
		return 0, err
	}
	tables := introspectionTables{library}
	members, err := library.PointerAt(handle + typeSupportData)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", symbol.Name, err)
	}
	var raw [membersSize]byte
	if _, err := library.ReadAt(members, raw[:]); err != nil {
		return 0, err
	}
	if !tables.pointsTo(members, of.pkg+"::"+of.namespace) || !tables.pointsTo(members+membersName, of.name) ||
		binary.LittleEndian.Uint32(raw[membersCount:]) != uint32(len(fields)) {
		return 0, errNotIntrospection
	}
	messageSize := binary.LittleEndian.Uint64(raw[membersMessageSize:])
	for _, layout := range []struct{ array, isArray uint64 }{
		{membersArray, memberIsArray}, {membersArrayFromJazzy, memberIsArrayFromJazzy},
	} {
		array, err := library.PointerAt(members + layout.array)
		if err != nil {
			continue
		}
		if offset, ok := tables.fieldOffset(array, layout.isArray, fields, index); ok && offset < messageSize {
			return offset, nil
		}
	}
	return 0, errNotIntrospection
}

type introspectionTables struct{ library *elffile.File }

// pointsTo reports whether there is a pointer to that string at the address.
func (t introspectionTables) pointsTo(address uint64, text string) bool {
	pointer, err := t.library.PointerAt(address)
	if err != nil {
		return false
	}
	found := make([]byte, len(text)+1)
	_, err = t.library.ReadAt(pointer, found)
	return err == nil && string(found) == text+"\x00"
}

// fieldOffset reads the array of members. All must be the fields; the one at index must be one message.
func (t introspectionTables) fieldOffset(array, isArray uint64, fields []messageField, index int) (offset uint64, ok bool) {
	var last uint64
	for i, field := range fields {
		member := array + uint64(i)*memberSize
		var raw [memberSize]byte
		if _, err := t.library.ReadAt(member, raw[:]); err != nil || !t.pointsTo(member, field.name) {
			return 0, false
		}
		found := uint64(binary.LittleEndian.Uint32(raw[memberOffset:]))
		if i == 0 && found != 0 || i > 0 && found <= last || (raw[isArray] != 0) != field.isArray {
			return 0, false
		}
		last = found
		if i == index {
			if raw[memberType] != typeIDMessage {
				return 0, false
			}
			offset = found
		}
	}
	return offset, true
}
