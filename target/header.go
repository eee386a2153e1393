package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/elffile"
)

const maxDefinitionSize = 256 << 10

// messageHeader is where a message type has its header, if it has one.
type messageHeader struct {
	offset uint64
	exists bool
}

// HeaderOffset tells whether messages of a type such as "sensor_msgs/msg/PointCloud2" have a field "header" of type
// std_msgs/Header, and at which offset in bytes it is in the C++ struct (where it is the first field, in the C struct
// too). The header begins with its stamp: int32 seconds, uint32 nanoseconds.
//
// The answer is from the type's definition in the ament prefix whose libraries of the package the process has mapped;
// before it has, in the first prefix of AMENT_PREFIX_PATH that has one. An error means that it is not known: no
// definition, one that nothing proves to be that of the process, or a header behind other fields whose offset the
// package's introspection library does not tell.
func (p *Process) HeaderOffset(ctx context.Context, messageType string) (offset uint64, ok bool, err error) {
	header, known := p.headers[messageType]
	if !known {
		if header, err = p.findHeader(ctx, messageType); err != nil {
			if !p.Alive() {
				err = ErrNoProcess
			}
			return 0, false, processError(p.PID, err)
		}
	}
	return header.offset, header.exists, nil
}

func (p *Process) findHeader(ctx context.Context, typeName string) (messageHeader, error) {
	of, err := parseMessageType(typeName)
	if err != nil {
		return messageHeader{}, err
	}
	if of.isGenerated() {
		return messageHeader{}, nil
	}
	if of.namespace != "msg" {
		return messageHeader{}, fmt.Errorf("%s: only messages of topics are looked up", typeName)
	}
	d, err := p.newDelegate(ctx)
	if err != nil {
		return messageHeader{}, err
	}
	defer d.close()
	libraries := p.packageLibraries(of.pkg)
	prefixes, err := p.definitionPrefixes(libraries)
	if err != nil {
		return messageHeader{}, fmt.Errorf("%s: %w", typeName, err)
	}
	header, err := ask(d, func(root rootDirectory) (messageHeader, error) {
		definition, err := findDefinition(root, of, prefixes, libraries)
		if err != nil {
			return messageHeader{}, err
		}
		return definition.header(root, of)
	})
	if err != nil {
		return messageHeader{}, fmt.Errorf("%s: %w", typeName, err)
	}
	// Without mapped libraries another prefix may still turn out to be the right one.
	if len(libraries) > 0 {
		if p.headers == nil {
			p.headers = map[string]messageHeader{}
		}
		p.headers[typeName] = header
	}
	return header, nil
}

// isGenerated: what rosidl makes of actions and services for topics has fields that the user does not choose, none of
// them a header.
func (t messageType) isGenerated() bool {
	return t.namespace == "action" && strings.HasSuffix(t.name, "_FeedbackMessage") ||
		t.namespace != "msg" && strings.HasSuffix(t.name, "_Event")
}

// packageLibraries are the mapped libraries with type support for a package.
func (p *Process) packageLibraries(pkg string) []Module {
	var libraries []Module
	for _, module := range p.Modules {
		if strings.HasPrefix(module.Name(), "lib"+pkg+"__rosidl_") {
			libraries = append(libraries, module)
		}
	}
	return libraries
}

// messageDefinition is a file that defines a message type.
type messageDefinition struct {
	// prefix is the ament prefix that has it; path is the file itself, symbolic links followed.
	prefix, path string
	isIDL        bool
	text         []byte
	err          error // of reading it
}

// definitionPrefixes are the ament prefixes that may have a definition: those that the package's libraries were mapped
// from, and those that the process was started to see.
func (p *Process) definitionPrefixes(libraries []Module) ([]string, error) {
	var prefixes []string
	for _, library := range libraries {
		if library.Deleted {
			return nil, fmt.Errorf("%s was replaced after the process had mapped it", library.Path)
		}
		directory := path.Dir(library.Path)
		if path.Base(directory) == multiarch() {
			directory = path.Dir(directory)
		}
		if path.Base(directory) == "lib" {
			prefixes = append(prefixes, path.Dir(directory))
		}
	}
	return append(prefixes, p.amentPrefixes()...), nil
}

// findDefinition finds the definition in the prefix that the libraries were mapped from.
func findDefinition(root rootDirectory, of messageType, prefixes []string, libraries []Module) (messageDefinition, error) {
	var found []messageDefinition
	for _, prefix := range prefixes {
		definition, ok := definitionIn(root, prefix, of)
		if !ok || slices.ContainsFunc(found, func(other messageDefinition) bool { return other.path == definition.path }) {
			continue
		}
		if len(libraries) == 0 {
			return definition, nil
		}
		if holdsOneOf(root, prefix, libraries) {
			found = append(found, definition)
		}
	}
	switch len(found) {
	case 0:
		return messageDefinition{}, fmt.Errorf("no definition among %d ament prefixes (share/%s/msg/%s.msg or .idl)", len(prefixes), of.pkg, of.name)
	case 1:
		return found[0], nil
	}
	return messageDefinition{}, fmt.Errorf("the process has mapped libraries of package %s from several prefixes: %s, %s",
		of.pkg, found[0].prefix, found[1].prefix)
}

// definitionIn finds the definition below a prefix, which perhaps cannot be read.
func definitionIn(root rootDirectory, prefix string, of messageType) (messageDefinition, bool) {
	for _, extension := range []string{".msg", ".idl"} {
		name := path.Join(prefix, "share", of.pkg, "msg", of.name+extension)
		definition := messageDefinition{prefix: prefix, path: name, isIDL: extension == ".idl"}
		file, err := root.openFile(name)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			continue
		case err != nil:
			definition.err = fmt.Errorf("%v", err) // not wrapped: it says nothing of the process
			return definition, true
		}
		defer file.Close()
		if definition.path, definition.err = root.pathOf(file); definition.err == nil {
			definition.text, definition.err = readAll(file, maxDefinitionSize)
		}
		return definition, true
	}
	return messageDefinition{}, false
}

// holdsOneOf reports whether a prefix's library directories lead to one of the mapped libraries, perhaps through
// symbolic links.
func holdsOneOf(root rootDirectory, prefix string, libraries []Module) bool {
	return slices.ContainsFunc(libraries, func(library Module) bool {
		for _, directory := range libraryDirectories(prefix) {
			if resolved, err := root.locate(path.Join(directory, library.Name())); err == nil && resolved == library.Path {
				return true
			}
		}
		return false
	})
}

func libraryDirectories(prefix string) []string {
	directory := path.Join(prefix, "lib")
	return []string{directory, path.Join(directory, multiarch())}
}

func (d messageDefinition) header(root rootDirectory, of messageType) (messageHeader, error) {
	if d.err != nil {
		return messageHeader{}, d.err
	}
	var fields []messageField
	var err error
	if d.isIDL {
		fields, err = parseIDLDefinition(of, d.text)
	} else {
		fields, err = parseMsgDefinition(of.pkg, d.text)
	}
	if err != nil {
		return messageHeader{}, fmt.Errorf("%s: %w", d.path, err)
	}
	switch index := headerIndex(fields); index {
	case -1:
		return messageHeader{}, nil
	case 0:
		return messageHeader{exists: true}, nil
	default:
		offset, err := d.introspect(root, of, fields, index)
		return messageHeader{offset: offset, exists: err == nil}, err
	}
}

// introspect reads the offset of a field from the introspection library of the definition's prefix.
func (d messageDefinition) introspect(root rootDirectory, of messageType, fields []messageField, index int) (uint64, error) {
	name := "lib" + of.pkg + "__rosidl_typesupport_introspection_cpp.so"
	for _, directory := range libraryDirectories(d.prefix) {
		file, err := root.openFile(path.Join(directory, name))
		if err != nil {
			continue
		}
		defer file.Close()
		offset, err := offsetIn(root.ctx, file, of, fields, index)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file.Name(), err)
		}
		return offset, nil
	}
	return 0, fmt.Errorf("the header is not the first field, and %s is not in %s/lib to tell its offset", name, d.prefix)
}

// offsetIn is introspectedOffset for an introspection library, which is read until ctx ends. Who pays for ctx pays.
func offsetIn(ctx context.Context, file *os.File, of messageType, fields []messageField, index int) (uint64, error) {
	library, err := elffile.NewMetered(file, newMeter(ctx))
	if err != nil {
		return 0, err
	}
	defer library.Close()
	offset, err := introspectedOffset(library, of, fields, index)
	if refused := library.Refused(); refused != nil {
		return 0, refused
	}
	return offset, err
}
