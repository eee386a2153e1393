package expect

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/caret-bpf/caret-bpf/report"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
	Output   string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes verdicts as a JUnit report, as systems of continuous integration read it: a test case each. Its
// class is the expectation's name. Without one it is what the expectation is of: a line of the file would not tell in
// the next version that it is the same case. Warnings are the output of all.
func WriteJUnit(w io.Writer, name string, verdicts []Verdict, warnings []string) error {
	suite := junitSuite{Name: report.Printable(name), Tests: len(verdicts)}
	for _, warning := range warnings {
		suite.Output += "warning: " + report.Printable(warning) + "\n"
	}
	named := map[string]int{}
	for _, v := range verdicts {
		class := v.Expectation
		if v.unnamed {
			class = v.Of
		}
		c := junitCase{Class: report.Printable(class), Name: report.Printable(strings.Join(strings.Fields(v.What+" "+v.Column+" "+v.Expected), " "))}
		// Readers take cases of one name for one.
		if named[c.Class+"\n"+c.Name]++; named[c.Class+"\n"+c.Name] > 1 {
			c.Name += fmt.Sprintf(" #%d", named[c.Class+"\n"+c.Name])
		}
		if !v.Met {
			suite.Failures++
			measured := report.Printable(v.Measured)
			c.Failure = &junitFailure{measured, measured}
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
