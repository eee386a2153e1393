package entities

import (
	"strings"
	"unicode/utf8"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxName bounds a ROS name: the middlewares allow 255 characters for a topic.
const maxName = 256

// maxSymbolBits bounds a demangled symbol, by the power of two of its length: substitutions in a mangled name multiply.
const maxSymbolBits = 13

// isName reports whether text can be the absolute name of a topic, service or namespace: "/" and parts of letters,
// digits and underscores, none of them empty. The root namespace "/" is one, but no topic; callers that read topics
// refuse it.
func isName(text string) bool {
	if text == "/" {
		return true
	}
	rest, absolute := strings.CutPrefix(text, "/")
	if !absolute || len(text) > maxName {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if !isBaseName(part) {
			return false
		}
	}
	return true
}

// isTopic reports whether text can be the absolute name of a topic or service.
func isTopic(text string) bool { return text != "/" && isName(text) }

// isRMWTopic is isTopic for what an rmw object says of itself.
func isRMWTopic(text string) bool { return isTopic(text) || text == trace.DiscoveryTopic }

// isBaseName reports whether text can be the name of a node or one part of a longer name.
func isBaseName(text string) bool { return isBaseNameOf(text, maxName) }

// isBaseNameOf is isBaseName for names of another length.
func isBaseNameOf(text string, limit int) bool {
	if text == "" || len(text) > limit {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// isIdentifier reports whether text can be the implementation identifier that every rmw object has
// ("rmw_fastrtps_cpp").
func isIdentifier(text string) bool { return strings.HasPrefix(text, "rmw_") && isBaseName(text) }

// fullName joins a node's namespace and name, "" if either is unknown.
func fullName(namespace, name string) string {
	switch {
	case namespace == "" || name == "":
		return ""
	case strings.HasSuffix(namespace, "/"):
		return namespace + name
	default:
		return namespace + "/" + name
	}
}

// noSymbol begins what tracetools passes in place of a symbol: when it was built without LTTng, as Humble's packages
// are, and when it found none.
var noSymbol = [...]string{"DISABLED__", "UNKNOWN"}

// symbolOf returns the text that rclcpp_callback_register passed, "" if it says nothing or is no printable UTF-8.
func symbolOf(text string) string {
	for _, placeholder := range noSymbol {
		if strings.HasPrefix(text, placeholder) {
			return ""
		}
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return text
}
