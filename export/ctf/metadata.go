package ctf

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/caret-bpf/caret-bpf/trace"
)

// describe writes the metadata of a trace, in the language of the Common Trace Format 1.8. Names have an underscore, as
// LTTng gives them one, and its readers take it away. Integers begin at any byte.
func describe(identifier uuid.UUID, session *trace.Session) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := character_t;

trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
	};
};

env {
%s};

clock {
	name = "recording";
	description = "CLOCK_MONOTONIC with the offset to real time at which the recording began";
	freq = 1000000000;
	offset = 0;
};

typealias integer { size = 64; align = 8; signed = false; map = clock.recording.value; } := timestamp_t;

stream {
	id = 0;
	event.header := struct {
		uint16_t id;
		timestamp_t timestamp;
	};
	packet.context := struct {
		timestamp_t timestamp_begin;
		timestamp_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
		uint32_t cpu_id;
	};
	event.context := struct {
		int32_t _vpid;
		int32_t _vtid;
		character_t _procname[%d];
	};
};
`, identifier, environment(session), procnameBytes)
	for i, of := range tracepoints() {
		fmt.Fprintf(&b, "\nevent {\n\tname = \"%s\";\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n", of.name, i)
		for _, f := range of.fields {
			fmt.Fprintf(&b, "\t\t%s;\n", declare(f))
		}
		b.WriteString("\t};\n};\n")
	}
	return []byte(b.String())
}

func declare(f field) string {
	switch f.of {
	case address:
		return "address_t _" + f.name
	case signed:
		return "int64_t _" + f.name
	case truth:
		return "int32_t _" + f.name
	case text:
		return "string _" + f.name
	case gid:
		return fmt.Sprintf("uint8_t _%s[%d]", f.name, gidBytes)
	}
	return "uint64_t _" + f.name
}

// environment tells what LTTng-UST tells of itself, by which Trace Compass knows its traces, and who has written this
// one in fact.
func environment(session *trace.Session) string {
	var b strings.Builder
	say := func(name, value string) { fmt.Fprintf(&b, "\t%s = \"%s\";\n", name, quote(value)) }
	if session != nil && session.Host.Name != "" {
		say("hostname", session.Host.Name)
	}
	say("domain", "ust")
	say("tracer_name", "lttng-ust")
	b.WriteString("\ttracer_major = 2;\n\ttracer_minor = 13;\n")
	say("written_by", "caret-bpf export ctf")
	var names []string
	for _, of := range tracepoints() {
		if of.isSynthesised() {
			names = append(names, of.name)
		}
	}
	say("synthesised_events", strings.Join(names, " "))
	say("unknown_fields", "gid of "+tracepoints()[rmwSubscriptionInit].name+", version of "+tracepoints()[rclInit].name)
	if session != nil && session.Recorder.Version != "" {
		say("recorder", session.Recorder.Version)
	}
	return b.String()
}

// quote makes the inside of a string of metadata: what is no printable ASCII becomes a question mark.
func quote(of string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, of)
}
