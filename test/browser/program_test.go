// Package browser tests the page of `view` and `report` in a real browser: what it shows is what the commands answer.
// It is a module of its own, so that the recorder does not depend on what drives a browser.
package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// required has the tests fail where they would be skipped.
	required = "CARET_BPF_REQUIRE_BROWSER"
	// root of the repository.
	root = "../.."
)

// program is caret-bpf, built with the page. folder is for what the tests make.
var program, folder string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "browser-test"); err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		err = build()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if os.Getenv(required) != "" {
			return 1
		}
		fmt.Fprintln(os.Stderr, "skipped")
		return 0
	}
	return m.Run()
}

// build builds the program, if the page and a browser are there.
func build() error {
	if _, err := findBrowser(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "web/dist/app.js")); err != nil {
		return fmt.Errorf("the page is not built (make web): %w", err)
	}
	program = filepath.Join(folder, "caret-bpf")
	command := exec.Command("go", "build", "-tags", "page", "-o", program, "./cmd/caret-bpf")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return nil
}

// findBrowser returns a browser that speaks the DevTools protocol.
func findBrowser() (string, error) {
	names := []string{"chromium", "google-chrome", "chromium-browser"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: none of %s", strings.Join(names, ", "))
}

// exitDiffers is the exit code of `diff` where recordings differ.
const exitDiffers = 8

// caretBPF runs the program and returns what it prints.
func caretBPF(t testing.TB, arguments ...string) []byte {
	t.Helper()
	return printed(t, 0, arguments...)
}

// printed is what the program prints that ends with an exit code.
func printed(t testing.TB, code int, arguments ...string) []byte {
	t.Helper()
	command := exec.Command(program, arguments...)
	var said strings.Builder
	command.Stderr = &said
	output, err := command.Output()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code {
		t.Fatalf("caret-bpf %s: %v\n%s", strings.Join(arguments, " "), err, said.String())
	}
	return output
}

// answer is what a query prints as JSON: rows of columns.
func answer(t testing.TB, arguments ...string) (rows []map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(caretBPF(t, append(arguments, "--json", "--quiet")...), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}
