package target

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	msgFieldType = regexp.MustCompile(`^(?:([a-z][a-z0-9_]*)/)?([A-Za-z][A-Za-z0-9_]*)(<=[0-9]+)?(\[(?:<=)?[0-9]*\])?$`)
	msgFieldName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)(?: *(=)| |$)`)
)

// msgBuiltInTypes are the types that belong to no package.
var msgBuiltInTypes = []string{
	"bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
	"string", "wstring",
}

// lineEnds makes all line ends those of Unix.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// parseMsgDefinition reads the fields of a .msg file of a package, which is what rosidl_adapter accepts: one field or
// constant a line. A type without package is of the same package; so "Header" alone is std_msgs/Header in std_msgs
// only. Errors hold nothing of the text: who named the file need not be allowed to read it, and others may read the
// errors.
func parseMsgDefinition(pkg string, text []byte) ([]messageField, error) {
	var fields []messageField
	for index, line := range strings.Split(lineEnds.Replace(string(text)), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " "))
		if line == "" {
			continue
		}
		typeText, rest, _ := strings.Cut(line, " ")
		fieldType := msgFieldType.FindStringSubmatch(typeText)
		name := msgFieldName.FindStringSubmatch(strings.TrimLeft(rest, " "))
		if fieldType == nil || name == nil {
			return nil, fmt.Errorf("message definition: line %d is neither a field nor a constant", index+1)
		}
		if isConstant := name[2] != ""; isConstant {
			continue
		}
		field := messageField{typeName: fieldType[2], name: name[1], isArray: fieldType[4] != ""}
		switch {
		case fieldType[1] != "":
			field.typeName = fieldType[1] + "/" + field.typeName
		case !slices.Contains(msgBuiltInTypes, field.typeName):
			field.typeName = pkg + "/" + field.typeName
		}
		fields = append(fields, field)
	}
	return fields, nil
}
