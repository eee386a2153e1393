package entities

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/target"
)

const (
	// maxCodeFiles bounds the files of one process in which functions are looked for at a time.
	maxCodeFiles = 8
	// codeFilesKept is how long they are kept, with their symbols: a process that begins asks for the same ones again and
	// again, and one that runs asks for none.
	codeFilesKept = 10 * time.Second
)

// codeFiles are the files that hold a process's code. Its user pays for them, and when he is short of memory they are
// let go of. A file that is none, or that was refused because his share is used up, is not asked for again as long as
// the others are kept.
type codeFiles struct {
	ctx     context.Context // when it ends, nothing more is read
	process *target.Process

	mutex sync.Mutex
	open  map[fileKey]*target.MappedFile // nil for what is not to be asked for
	timer *time.Timer                    // lets go of them
	stop  func()                         // they need not be let go of any more when memory is short
}

// fileKey is a mapped file.
type fileKey struct {
	device, inode uint64
	path          string
}

func keyOf(mapping target.Mapping) fileKey {
	return fileKey{mapping.Device, mapping.Inode, mapping.Path}
}

// ask asks the file behind a mapping. The error is why the file could not be read to its end, or the answer's.
func (c *codeFiles) ask(mapping target.Mapping, question func(*elffile.File) error) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	file, err := c.of(mapping)
	if err != nil {
		return err
	}
	err = question(file.File)
	if refused := file.Refused(); refused != nil {
		file.Close()
		c.open[keyOf(mapping)] = nil
		return refused
	}
	return err
}

// of opens the file behind a mapping, unless it is open.
func (c *codeFiles) of(mapping target.Mapping) (*target.MappedFile, error) {
	key := keyOf(mapping)
	file, known := c.open[key]
	if file == nil && known {
		return nil, fmt.Errorf("%s: %w", mapping.Path, errNoCode)
	}
	if known {
		return file, nil
	}
	if len(c.open) == maxCodeFiles {
		c.letGo()
	}
	if len(c.open) == 0 {
		c.open = map[fileKey]*target.MappedFile{}
		c.timer = time.AfterFunc(codeFilesKept, c.close)
		c.stop = c.process.Account().WhenShort(c.spare)
	}
	file, err := c.process.OpenMappedFile(c.ctx, mapping)
	c.open[key] = file
	return file, err
}

// close lets go of all files. They may be asked again.
func (c *codeFiles) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.letGo()
}

// spare lets go of all files that nobody is asking just now.
func (c *codeFiles) spare() {
	if !c.mutex.TryLock() {
		return
	}
	defer c.mutex.Unlock()
	c.letGo()
}

func (c *codeFiles) letGo() {
	for _, file := range c.open {
		if file != nil {
			file.Close()
		}
	}
	clear(c.open)
	if c.timer != nil {
		c.timer.Stop()
		c.stop()
	}
}

// FunctionAt returns the function that begins at an address, as the file that is mapped there tells: its bounds are
// those of its unwind information.
func (m *ProcessMemory) FunctionAt(address uint64) (Function, bool) {
	var function Function
	err := m.askCode(address, func(mapping target.Mapping, file *elffile.File, inFile uint64) error {
		bounds, err := file.FrameRange(inFile)
		if err != nil {
			return err
		}
		if bounds.Start != inFile {
			return errors.New("no function begins there")
		}
		function = Function{
			Start: address, End: address + bounds.End - bounds.Start,
			Module: filepath.Base(strings.TrimSuffix(mapping.Path, " (deleted)")), Offset: inFile,
		}
		if symbols, err := file.SymbolsAt(inFile); err == nil { // it may have none
			for _, symbol := range symbols {
				function.Names = append(function.Names, symbol.Name)
			}
		}
		return nil
	})
	return function, err == nil
}

// PassedMember follows the code of the function at an address in the file that is mapped there.
func (m *ProcessMemory) PassedMember(function uint64, callee string) (member elffile.Member, err error) {
	err = m.askCode(function, func(_ target.Mapping, file *elffile.File, inFile uint64) (err error) {
		member, err = file.PassedMember(inFile, callee)
		return err
	})
	return member, err
}

// askCode asks the file whose code is at an address about the address in the file's own address space.
func (m *ProcessMemory) askCode(address uint64, question func(mapping target.Mapping, file *elffile.File, inFile uint64) error) error {
	mapping, ok := m.presentMapping(address)
	if !ok || !mapping.Executable() || mapping.Inode == 0 {
		return fmt.Errorf("no file's code is at %#x: %w", address, errNoCode)
	}
	return m.code.ask(mapping, func(file *elffile.File) error {
		inFile, err := file.AddressOf(mapping.Offset + address - mapping.Start)
		if err != nil {
			return err
		}
		return question(mapping, file, inFile)
	})
}
