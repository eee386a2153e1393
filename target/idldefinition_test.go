package target

import (
	"slices"
	"testing"
)

func TestParseIDLDefinition(t *testing.T) {
	wanted := messageType{"p", "msg", "Scan"}
	inModule := func(text string) string { return "module p {\n  module msg {\n" + text + "\n  };\n};\n" }
	for name, test := range map[string]struct {
		text     string
		expected []messageField
		header   int
	}{
		"as rosidl_adapter writes it": {
			"// generated from rosidl_adapter/resource/msg.idl.em\n\n#include \"std_msgs/msg/Header.idl\"\n\n" + inModule(`
    typedef double double__36[36];
    module Scan_Constants {
      @verbatim (language="comment", text="not a struct Scan { int8 x; };")
      const uint8 OFF = 0;
      const string NAME = "a \"quoted\" }";
    };
    @verbatim (language="comment", text=
      "Two lines" "\n"
      "of comment, with ( and {")
    struct Scan {
      @verbatim (language="comment", text="the time")
      std_msgs::msg::Header header;

      @default (value="it's")
      @unit (value="m")
      string<10> name;
      sequence<geometry_msgs::msg::Point, 4> points;
      double__36 covariance;
      unsigned long long count;
      boolean on;
    };`),
			[]messageField{
				{"std_msgs/Header", "header", false}, {"string", "name", false}, {"sequence", "points", true}, {"double", "covariance", true},
				{"unsigned long long", "count", false}, {"boolean", "on", false},
			}, 0,
		},
		"header later, several declarators": {
			inModule("struct Other { std_msgs::msg::Header header; }; /* { */ struct Scan { @key long a, b[3][2]; ::std_msgs :: msg::Header header; char c; };"),
			[]messageField{{"long", "a", false}, {"long", "b", true}, {"std_msgs/Header", "header", false}, {"char", "c", false}}, 2,
		},
		"alias of the header": {
			inModule("typedef std_msgs::msg::Header Stamp, Stamps[2]; struct Scan { Stamp header; Stamps headers; };"),
			[]messageField{{"std_msgs/Header", "header", false}, {"std_msgs/Header", "headers", true}}, 0,
		},
		"alias in another module":    {"module q { module msg { typedef std_msgs::msg::Header H; }; };" + inModule("struct Scan { H header; };"), []messageField{{"p/H", "header", false}}, -1},
		"alias of an array":          {inModule("typedef std_msgs::msg::Header H[2]; struct Scan { H header; };"), []messageField{{"std_msgs/Header", "header", true}}, -1},
		"the package's own Header":   {inModule("struct Header { long x; }; struct Scan { Header header; };"), []messageField{{"p/Header", "header", false}}, -1},
		"a sequence of headers":      {inModule("struct Scan { sequence<std_msgs::msg::Header> header; };"), []messageField{{"sequence", "header", true}}, -1},
		"an array of headers":        {inModule("struct Scan { std_msgs::msg::Header header[3]; };"), []messageField{{"std_msgs/Header", "header", true}}, -1},
		"a header of other modules":  {inModule("struct Scan { std_msgs::srv::Header header; a::b::c::Header x; };"), []messageField{{"std_msgs/srv/Header", "header", false}, {"a::b::c::Header", "x", false}}, -1},
		"an enum, characters, wide":  {inModule(`enum E { @value(1) A, B }; const wstring W = L"}"; const char C = '\''; const char D = '"'; struct Scan { E e; };`), []messageField{{"p/E", "e", false}}, -1},
		"a forward declaration":      {inModule("struct Scan; struct Scan { sequence<sequence<octet>, 3> data; };"), []messageField{{"sequence", "data", true}}, -1},
		"the same name in p::action": {"module p { module action { struct Scan { std_msgs::msg::Header header; }; }; };" + inModule("struct Scan { long x; };"), []messageField{{"long", "x", false}}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			fields, err := parseIDLDefinition(wanted, []byte(test.text))
			if err != nil || !slices.Equal(fields, test.expected) {
				t.Errorf("%+v, %v", fields, err)
			}
			if index := headerIndex(fields); index != test.header {
				t.Errorf("the header is field %d, not %d", test.header, index)
			}
		})
	}
	for _, text := range []string{
		"", "struct Scan { long x; };", inModule("struct Other { long x; };"), inModule("struct Scan { long x; }"), inModule("struct Scan { long x }; "),
		inModule("struct Scan : Base { long x; };"), inModule("struct Scan { long x; }; struct Scan { long y; };"), "module p { module msg { struct Scan { long x; };",
		inModule("struct Scan { 3 x; };"), inModule("struct Scan { sequence<long x; };"), inModule("union Scan switch(long) { case 1: long x; };"),
		inModule("struct Scan { long \"x\"; };"), inModule("struct Scan { long x[3; };"), inModule("struct Scan { long x, ; };"), inModule("@ struct Scan { long x; };"),
		inModule("struct Scan { long x; \x01 };"), inModule("/* struct Scan { long x; };"), "}", "module p {", "module",
	} {
		if fields, err := parseIDLDefinition(wanted, []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, fields)
		}
	}
}

func FuzzParseIDLDefinition(f *testing.F) {
	f.Add([]byte("#include \"x\"\nmodule p { module msg { typedef long l[3]; @a(b=\"c\") struct Scan { std_msgs::msg::Header header; sequence<octet, 3> d; l e, g[2]; }; }; };"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fields, err := parseIDLDefinition(messageType{"p", "msg", "Scan"}, text)
		if err != nil && fields != nil {
			t.Errorf("%+v with %v", fields, err)
		}
		checkDiscreet(t, err)
		for _, field := range fields {
			if !idlIdentifier.MatchString(field.name) || field.typeName == "" {
				t.Errorf("%+v", field)
			}
		}
	})
}
