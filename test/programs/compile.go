package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed runtime/*.hpp
var runtimeFiles embed.FS

//go:embed runtime/container.cpp
var containerSource string

// libraries are those whose functions headers call, so a program needs them itself.
var libraries = []string{
	"rclcpp", "rclcpp_action", "rclcpp_lifecycle", "rcl", "rcl_action", "rcl_lifecycle", "rmw", "rcutils", "rcpputils", "tracetools",
	"rosidl_runtime_c", "rosidl_typesupport_cpp", "libstatistics_collector",
}

// packages are those of message types that programs use.
var packages = []string{
	"action_msgs", "builtin_interfaces", "example_interfaces", "lifecycle_msgs", "rcl_interfaces", "rosgraph_msgs", "service_msgs",
	"statistics_msgs", "std_msgs", "unique_identifier_msgs",
}

// Compiler compiles programs for one installed distribution.
type Compiler struct {
	prefix, folder string
	flags, links   []string
}

// NewCompiler prepares to compile with the headers and libraries below prefix (/opt/ros/humble). What was compiled once
// is found in the folder again.
func NewCompiler(ctx context.Context, prefix, folder string) (*Compiler, error) {
	c := &Compiler{prefix: prefix, flags: []string{"-std=c++17", "-O2", "-pthread", "-w"}}
	includes, err := os.ReadDir(filepath.Join(prefix, "include"))
	if err != nil {
		return nil, err
	}
	for _, entry := range includes {
		// Packages of ROS 2 have folders of their own: include/rclcpp/rclcpp/rclcpp.hpp. Others have headers named as the C
		// library's.
		own := filepath.Join(prefix, "include", entry.Name())
		if _, err := os.Stat(filepath.Join(own, entry.Name())); err == nil {
			c.flags = append(c.flags, "-isystem", own)
		}
	}
	c.flags = append(c.flags, "-isystem", filepath.Join(prefix, "include"))
	names := slices.Clone(libraries)
	for _, pkg := range packages {
		names = append(names, pkg+"__rosidl_typesupport_cpp", pkg+"__rosidl_generator_c", pkg+"__rosidl_typesupport_c")
	}
	lib := filepath.Join(prefix, "lib")
	c.links = []string{"-L" + lib, "-Wl,-rpath," + lib, "-Wl,-rpath-link," + lib, "-Wl,--as-needed"}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(lib, "lib"+name+".so")); err == nil {
			c.links = append(c.links, "-l"+name)
		}
	}
	key, err := c.key(ctx)
	if err != nil {
		return nil, err
	}
	c.folder = filepath.Join(folder, key)
	return c, c.prepare(ctx)
}

// key is a hash of everything that is the same for all programs.
func (c *Compiler) key(ctx context.Context) (string, error) {
	sum := sha256.New()
	version, err := exec.CommandContext(ctx, "g++", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("g++ --version: %w", err)
	}
	fmt.Fprintln(sum, string(version), c.flags, c.links)
	for _, pkg := range slices.Concat(libraries, packages) {
		// What is compiled depends on the versions, which these files tell. A package that a distribution does not have is
		// none of it.
		if description, err := os.ReadFile(filepath.Join(c.prefix, "share", pkg, "package.xml")); err == nil {
			fmt.Fprintln(sum, pkg, string(description))
		}
	}
	err = fs.WalkDir(runtimeFiles, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := runtimeFiles.ReadFile(path)
		fmt.Fprintln(sum, path, string(content))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// prepare compiles the headers.
func (c *Compiler) prepare(ctx context.Context) error {
	header := filepath.Join(c.folder, "program.hpp")
	if _, err := os.Stat(header + ".gch"); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return err
	}
	entries, err := runtimeFiles.ReadDir("runtime")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := runtimeFiles.ReadFile("runtime/" + entry.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.folder, entry.Name()), content, 0o644); err != nil {
			return err
		}
	}
	return c.run(ctx, header+".gch", slices.Concat(c.flags, []string{"-x", "c++-header", header})...)
}

// Compile returns the path of the compiled program.
func (c *Compiler) Compile(ctx context.Context, p Program) (string, error) {
	identity := p.Source
	if p.Component {
		identity += containerSource
	}
	sum := sha256.Sum256([]byte(identity))
	path := filepath.Join(c.folder, fmt.Sprintf("program-%d-%s", p.Seed, hex.EncodeToString(sum[:8])))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	source := path + ".cpp"
	if err := os.WriteFile(source, []byte(p.Source), 0o644); err != nil {
		return "", err
	}
	compile := c.compileProgram
	if p.Component {
		compile = c.compileComponent
	}
	if err := compile(ctx, path, source, p.Stripped); err != nil {
		return "", fmt.Errorf("program of seed %d: %w", p.Seed, err)
	}
	return path, nil
}

func (c *Compiler) compileProgram(ctx context.Context, path, source string, stripped bool) error {
	return c.run(ctx, path, slices.Concat(c.flags, []string{"-I", c.folder, source}, c.links, strip(stripped))...)
}

// compileComponent makes a library of the program, and beside it the process that loads it.
func (c *Compiler) compileComponent(ctx context.Context, path, source string, stripped bool) error {
	asLibrary := []string{"-shared", "-fPIC", "-Dmain=component_main", "-I", c.folder, source}
	if err := c.run(ctx, path+".so", slices.Concat(c.flags, asLibrary, c.links, strip(stripped))...); err != nil {
		return err
	}
	container := path + "-container.cpp"
	if err := os.WriteFile(container, []byte(containerSource), 0o644); err != nil {
		return err
	}
	lib := filepath.Join(c.prefix, "lib")
	return c.run(ctx, path, container, "-O2", "-Wl,--no-as-needed", "-L"+lib, "-Wl,-rpath,"+lib, "-Wl,-rpath-link,"+lib, "-lrclcpp", "-ldl")
}

func strip(stripped bool) []string {
	if stripped {
		return []string{"-s"}
	}
	return nil
}

// run lets g++ make a file, which is there wholly or not at all.
func (c *Compiler) run(ctx context.Context, output string, arguments ...string) error {
	part := fmt.Sprintf("%s.%d.part", output, os.Getpid())
	command := exec.CommandContext(ctx, "g++", slices.Concat(arguments, []string{"-o", part})...)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("g++: %w\n%s", err, firstLines(said.String(), 40))
	}
	return os.Rename(part, output)
}

func firstLines(text string, count int) string {
	lines := strings.SplitAfterN(text, "\n", count+1)
	return strings.Join(lines[:min(count, len(lines))], "")
}

// ErrNotInstalled is returned where a distribution is not there, or not all of it that programs need.
var ErrNotInstalled = errors.New("not installed")

// Prefix returns where a distribution is installed with the headers that programs need.
func Prefix(distro string) (string, error) {
	prefix := filepath.Join("/opt/ros", distro)
	for _, header := range []string{
		"rclcpp/rclcpp/rclcpp.hpp", "rclcpp_action/rclcpp_action/rclcpp_action.hpp", "rclcpp_lifecycle/rclcpp_lifecycle/lifecycle_node.hpp",
		"example_interfaces/example_interfaces/srv/add_two_ints.hpp", "std_msgs/std_msgs/msg/header.hpp",
	} {
		if _, err := os.Stat(filepath.Join(prefix, "include", header)); err != nil {
			return "", fmt.Errorf("%s: %w", filepath.Join(prefix, "include", header), ErrNotInstalled)
		}
	}
	return prefix, nil
}
