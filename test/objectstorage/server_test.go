// Package objectstorage tests lakes in object storage with a real server that speaks S3, versitygw. It is a module of
// its own, so that nothing else depends on the server.
package objectstorage

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	accessKey = "test-access"
	secretKey = "test-secret"
	bucket    = "fleet"
)

// serverProgram is the server, which is built once.
var serverProgram string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "objectstorage-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	serverProgram = filepath.Join(folder, "versitygw")
	if out, err := exec.Command("go", "build", "-o", serverProgram, "github.com/versity/versitygw/cmd/versitygw").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the server: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is object storage in a folder, which can be stopped and started again at the same address.
type server struct {
	address, folder, metadata string
	process                   *exec.Cmd
}

// newServer starts a server with an empty bucket, and has the environment name it.
func newServer(t *testing.T) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: listener.Addr().String(), folder: t.TempDir(), metadata: t.TempDir()}
	if err := errors.Join(listener.Close(), os.Mkdir(filepath.Join(s.folder, bucket), 0o755)); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	t.Cleanup(s.stop)
	for variable, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://" + s.address, "AWS_ENDPOINT_URL_S3": "", "AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": "us-east-1",
	} {
		t.Setenv(variable, value)
	}
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.process = exec.Command(serverProgram, "--access", accessKey, "--secret", secretKey, "--port", s.address, "--quiet", "posix", "--sidecar", s.metadata, s.folder)
	s.process.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if connection, err := net.Dial("tcp", s.address); err == nil {
			_ = connection.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not listen")
}

// stop kills the server.
func (s *server) stop() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// objects are what the bucket has, by their keys.
func (s *server) objects(t *testing.T) map[string]string {
	t.Helper()
	return filesBelow(t, filepath.Join(s.folder, bucket))
}

func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		if !strings.HasPrefix(name, ".sgwtmp") { // the server's own
			files[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
