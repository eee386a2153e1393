package target

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseMessageType(t *testing.T) {
	for text, expected := range map[string]messageType{
		"sensor_msgs/msg/PointCloud2":                         {"sensor_msgs", "msg", "PointCloud2"},
		"example_interfaces/action/Fibonacci_FeedbackMessage": {"example_interfaces", "action", "Fibonacci_FeedbackMessage"},
		"std_srvs/srv/Trigger_Event":                          {"std_srvs", "srv", "Trigger_Event"},
		"":                                                    {},
		"sensor_msgs/PointCloud2":                             {},
		"sensor_msgs/msg/":                                    {},
		"sensor_msgs/msg/../Image":                            {},
		"../msg/Image":                                        {},
		"sensor_msgs/msg/Image\n":                             {},
		"/sensor_msgs/msg/Image":                              {},
		"sensor_msgs/idl/Image":                               {},
		"sensor_msgs/msg/Image/" + strings.Repeat("../", 20):     {},
		"sensor_msgs/msg/sub/Image":                              {},
		"sensor_msgs\x00/msg/Image":                              {},
		"sensor_msgs::msg::dds_::PointCloud2_ (the name in DDS)": {},
	} {
		found, err := parseMessageType(text)
		if found != expected || (err == nil) != (expected != messageType{}) {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
}

func TestParseMsgDefinition(t *testing.T) {
	for name, test := range map[string]struct {
		pkg, text string
		expected  []messageField
		header    int
	}{
		"header first": {
			"sensor_msgs",
			"# A comment, std_msgs/Header header\n\nstd_msgs/Header header # Header timestamp\n\nuint32 height\nPointField[] fields\n",
			[]messageField{{"std_msgs/Header", "header", false}, {"uint32", "height", false}, {"sensor_msgs/PointField", "fields", true}}, 0,
		},
		"header later": {
			"p", "uint8 STATE_OFF=0\nuint8 state 1\nstd_msgs/Header header\r\n",
			[]messageField{{"uint8", "state", false}, {"std_msgs/Header", "header", false}}, 1,
		},
		"constants are no fields": {
			"p", "string NAME = \"std_msgs/Header header\"\nint32 A= -1\nint32 B =2\nchar C=67\nfloat32 D=1e-3\nstd_msgs/Header header",
			[]messageField{{"std_msgs/Header", "header", false}}, 0,
		},
		"arrays and bounds": {
			"p", "string<=10 name\nstring<=3[<=5] names \nuint8[16] uuid\nint32[<=4] some\nwstring[] wide\ngeometry_msgs/Point32[4] corners",
			[]messageField{
				{"string", "name", false}, {"string", "names", true}, {"uint8", "uuid", true}, {"int32", "some", true}, {"wstring", "wide", true},
				{"geometry_msgs/Point32", "corners", true},
			}, -1,
		},
		"defaults": {
			"p", "string text \"a # b\"\nstring<=9 other 'x'\nint32[] numbers [1, 2, 3]\nbool on true\nfloat64 x   -1.5e3",
			[]messageField{
				{"string", "text", false}, {"string", "other", false}, {"int32", "numbers", true}, {"bool", "on", false}, {"float64", "x", false},
			}, -1,
		},
		"tabs and spaces": {
			"p", "\tstd_msgs/Header\t \theader  \n   \n \t# nothing\n",
			[]messageField{{"std_msgs/Header", "header", false}}, 0,
		},
		"the package's own Header":   {"p", "Header header", []messageField{{"p/Header", "header", false}}, -1},
		"Header within std_msgs":     {"std_msgs", "Header header", []messageField{{"std_msgs/Header", "header", false}}, 0},
		"a header of another name":   {"p", "std_msgs/Header stamp", []messageField{{"std_msgs/Header", "stamp", false}}, -1},
		"an array of headers":        {"p", "std_msgs/Header[] header", []messageField{{"std_msgs/Header", "header", true}}, -1},
		"a header in a comment":      {"p", "# x\n#std_msgs/Header header\nint8 x", []messageField{{"int8", "x", false}}, -1},
		"another package's Header":   {"p", "my_std_msgs/Header header", []messageField{{"my_std_msgs/Header", "header", false}}, -1},
		"a time called header":       {"p", "builtin_interfaces/Time header", []messageField{{"builtin_interfaces/Time", "header", false}}, -1},
		"the smallest: nothing":      {"p", "", nil, -1},
		"only comments, no line end": {"p", "# nothing", nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			fields, err := parseMsgDefinition(test.pkg, []byte(test.text))
			if err != nil || !slices.Equal(fields, test.expected) {
				t.Errorf("%+v, %v", fields, err)
			}
			if index := headerIndex(fields); index != test.header {
				t.Errorf("the header is field %d, not %d", test.header, index)
			}
		})
	}
	for _, text := range []string{
		"uint32", "uint32 ", "uint32 =3", "std_msgs/Header 3", "/Header header", "std_msgs/msg/Header header", "int32[3 x", "int32[-1] x", "int32<=3.5 x",
		"@optional std_msgs/Header header", "int32 a-b", "---", "<<<<<<< HEAD", "int32[2][2] x", "\ufeffint32 x", "string<= x",
	} {
		if fields, err := parseMsgDefinition("p", []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, fields)
		}
	}
}

func FuzzParseMsgDefinition(f *testing.F) {
	f.Add("p", []byte("# c\nstd_msgs/Header header\nstring<=3[<=5] names # x\nuint8 A=1\nint32[] x [1, 2]\n"))
	f.Fuzz(func(t *testing.T, pkg string, text []byte) {
		fields, err := parseMsgDefinition(pkg, text)
		if err != nil && fields != nil {
			t.Errorf("%+v with %v", fields, err)
		}
		checkDiscreet(t, err)
		checkFields(t, fields, len(text))
	})
}

// discreetErrors are all that an error of the parsers may say. So none tells what is in the file.
var discreetErrors = regexp.MustCompile(`^(?:message definition: line [0-9]+ is neither a field nor a constant` +
	`|IDL: no struct p::msg::Scan` +
	`|IDL: line [0-9]+: syntax(?:: not a (?:name|definition)|: a module is not closed|: the struct twice|: no "[;})>\]]")?)$`)

func checkDiscreet(t *testing.T, err error) {
	t.Helper()
	if err != nil && !discreetErrors.MatchString(err.Error()) {
		t.Errorf("the error may tell what is in the file: %q", err)
	}
}

func TestErrorsTellLineNotContent(t *testing.T) {
	const secret = "API_KEY=sk-verysecret-1234567"
	for text, line := range map[string]string{
		secret: "line 1 ", "\n\n# x\n" + secret: "line 4 ", "int32 x\r\n\r\n" + secret: "line 3 ",
	} {
		_, err := parseMsgDefinition("p", []byte(text))
		if checkDiscreet(t, err); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v, expected %s", text, err, line)
		}
	}
	for text, line := range map[string]string{
		secret: "line 1:", "module p {\n/* a\nb */ module msg {\n" + secret: "line 4:", "module p {\n module verysecret {": "line 2:",
		"module p {\nmodule msg {\nstruct Scan {\nlong 3verysecret;": "line 4:", "\n\n\x01" + secret: "line 3:",
		"module p {\n module msg {\n struct Scan { verysecret::\n 3::x y; };": "line 4:",
	} {
		_, err := parseIDLDefinition(messageType{"p", "msg", "Scan"}, []byte(text))
		if checkDiscreet(t, err); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v, expected %s", text, err, line)
		}
	}
}

// checkFields fails if the fields cannot be those of a definition of that length.
func checkFields(t *testing.T, fields []messageField, length int) {
	t.Helper()
	if len(fields) > length/3 {
		t.Errorf("%d fields in %d bytes", len(fields), length)
	}
	for _, field := range fields {
		if field.name == "" || field.typeName == "" || strings.ContainsAny(field.name, " \t\n#=[]/") {
			t.Errorf("%+v", field)
		}
	}
}
