package target

import (
	"fmt"
	"regexp"
)

// messageType is a ROS type in its three parts: package, "msg" (or "srv" or "action"), name.
type messageType struct{ pkg, namespace, name string }

func (t messageType) String() string { return t.pkg + "/" + t.namespace + "/" + t.name }

var messageTypePattern = regexp.MustCompile(`^([a-z][a-z0-9_]*)/(msg|srv|action)/([A-Za-z][A-Za-z0-9_]*)$`)

// parseMessageType reads a type such as "sensor_msgs/msg/PointCloud2". No part can lead out of a directory.
func parseMessageType(text string) (messageType, error) {
	parts := messageTypePattern.FindStringSubmatch(text)
	if parts == nil {
		return messageType{}, fmt.Errorf("%.200q is not a message type", text)
	}
	return messageType{parts[1], parts[2], parts[3]}, nil
}

// messageField is a field of a message definition.
type messageField struct {
	// typeName is the type of the field, or of its elements: a built-in type as the definition names it, or
	// "std_msgs/Header".
	typeName string
	name     string
	isArray  bool
}

// headerType is the one type whose stamp is a message's time.
const headerType = "std_msgs/Header"

// headerIndex is which field is the header, or -1.
func headerIndex(fields []messageField) int {
	for i, field := range fields {
		if field.name == "header" && field.typeName == headerType && !field.isArray {
			return i
		}
	}
	return -1
}
