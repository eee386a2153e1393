package main

import (
	"strings"
	"testing"
	"time"
)

const printed = `make: Entering directory
{"Time":"2026-11-30T10:00:00Z","Action":"run","Package":"p","Test":"TestKilled"}
{"Time":"2026-11-30T10:00:00Z","Action":"run","Package":"p","Test":"TestKilled/memory"}
{"Time":"2026-11-30T10:00:01Z","Action":"output","Package":"p","Test":"TestKilled/memory","Output":"    a_test.go:3: tried: trials=100\n"}
{"Time":"2026-11-30T10:00:01Z","Action":"pass","Package":"p","Test":"TestKilled/memory","Elapsed":1}
{"Time":"2026-11-30T10:00:01Z","Action":"run","Package":"p","Test":"TestKilled/disk"}
{"Time":"2026-11-30T10:00:02Z","Action":"output","Package":"p","Test":"TestKilled/disk","Output":"    a_test.go:3: tried: trials=7\n"}
{"Time":"2026-11-30T10:00:02Z","Action":"fail","Package":"p","Test":"TestKilled/disk","Elapsed":1}
{"Time":"2026-11-30T10:00:02Z","Action":"fail","Package":"p","Test":"TestKilled","Elapsed":2}
{"Time":"2026-11-30T10:00:02Z","Action":"run","Package":"p","Test":"TestForms"}
{"Time":"2026-11-30T10:00:02Z","Action":"run","Package":"p","Test":"TestForms/a"}
{"Time":"2026-11-30T10:00:02Z","Action":"pass","Package":"p","Test":"TestForms/a","Elapsed":0}
{"Time":"2026-11-30T10:00:02Z","Action":"run","Package":"p","Test":"TestForms/b"}
{"Time":"2026-11-30T10:00:02Z","Action":"skip","Package":"p","Test":"TestForms/b","Elapsed":0}
{"Time":"2026-11-30T10:00:02Z","Action":"run","Package":"p","Test":"TestForms/c"}
{"Time":"2026-11-30T10:00:02Z","Action":"pass","Package":"p","Test":"TestForms/c","Elapsed":0}
{"Time":"2026-11-30T10:00:03.26Z","Action":"pass","Package":"p","Test":"TestForms","Elapsed":1.26}
{"Time":"2026-11-30T10:00:04Z","Action":"run","Package":"p","Test":"TestSkipped"}
{"Time":"2026-11-30T10:00:04Z","Action":"skip","Package":"p","Test":"TestSkipped","Elapsed":0}
{"Time":"2026-11-30T10:00:04Z","Action":"run","Package":"p","Test":"TestCrashed"}
{"Time":"2026-11-30T10:00:05Z","Action":"fail","Package":"p","Elapsed":5}
`

func TestResults(t *testing.T) {
	ran, err := parse(strings.NewReader(printed), true)
	if err != nil {
		t.Fatal(err)
	}
	later, err := parse(strings.NewReader(`{"Time":"2026-11-30T10:00:06Z","Action":"run","Test":"TestSkipped"}
{"Time":"2026-11-30T10:00:06Z","Action":"run","Test":"TestSkipped/aside"}
{"Time":"2026-11-30T10:00:08Z","Action":"pass","Test":"TestSkipped/aside","Elapsed":2}
{"Time":"2026-11-30T10:00:08Z","Action":"pass","Test":"TestSkipped","Elapsed":0}
{"Time":"2026-11-30T10:00:08Z","Action":"run","Test":"TestForms"}
{"Time":"2026-11-30T10:00:08Z","Action":"pass","Test":"TestForms","Elapsed":0}
`), false)
	if err != nil {
		t.Fatal(err)
	}
	ran.merge(later)
	if ran.ended.Sub(ran.began) != 8*time.Second {
		t.Errorf("from %v to %v", ran.began, ran.ended)
	}
	page := "| `TestKilled`, `TestForms` | `TestSkipped` |\n| `TestCrashed`, `TestElsewhere` and `TestKilled` |"
	want := "| test | form | trials | failures | duration |\n|---|---|---|---|---|\n" +
		"| `TestKilled` | long | 107 | 1 | 2s |\n" +
		"| `TestForms` | long | 2 | 0 | 1.3s |\n" +
		"| `TestSkipped` | ordinary | 1 | 0 | 2s |\n" +
		"| `TestCrashed` | long | 1 | 1 | 0s |\n" +
		"| not run to their end then: `TestElsewhere` | | | | |\n"
	if got := table(named(page), ran.tests); got != want {
		t.Errorf("%s", got)
	}
}
