package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTutorialsReport makes the report of the tutorial, by its own command, and looks at it.
func TestTutorialsReport(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^caret-bpf report .*$`).FindString(string(text))
	if command == "" {
		t.Fatal("the tutorial makes no report")
	}
	dataset := recorded(t)
	shell := exec.Command("sh", "-c", command)
	shell.Dir = filepath.Join(filepath.Dir(dataset), "there")
	if err := os.Mkdir(shell.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dataset, filepath.Join(shell.Dir, "rec")); err != nil {
		t.Fatal(err)
	}
	shell.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	p := openPage(t, "file://"+filepath.Join(shell.Dir, "report.html"))
	p.goTo("#paths")
	p.expectTable("hops", answer(t, "latency", "path", dataset, "--from", "/image", "--to", "/actuator"))
	p.expectQuiet()
}
