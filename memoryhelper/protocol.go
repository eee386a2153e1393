package memoryhelper

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// BlockSize is how many bytes are read at a time, at most.
const BlockSize = 256 << 10

// name is that by which the program knows that it is to be the helper.
const name = "caret-bpf-memory-helper"

// Descriptors that the helper gets.
const (
	socketDescriptor = selfexec.FirstFile
	bufferDescriptor = selfexec.FirstFile + 1
)

const (
	requestSize = 16 // PID, size, address
	answerSize  = 8  // bytes read, errno
)

type request struct {
	pid     int32
	size    uint32
	address uint64
}

func (r request) encode() []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(r.pid))
	b = binary.NativeEndian.AppendUint32(b, r.size)
	return binary.NativeEndian.AppendUint64(b, r.address)
}

func parseRequest(b []byte) (request, bool) {
	if len(b) != requestSize {
		return request{}, false
	}
	order := binary.NativeEndian
	r := request{pid: int32(order.Uint32(b)), size: order.Uint32(b[4:]), address: order.Uint64(b[8:])}
	return r, r.size <= BlockSize
}

type answer struct {
	read  uint32
	errno unix.Errno
}

func (a answer) encode() []byte {
	b := binary.NativeEndian.AppendUint32(nil, a.read)
	return binary.NativeEndian.AppendUint32(b, uint32(a.errno))
}

func parseAnswer(b []byte) (answer, bool) {
	if len(b) != answerSize {
		return answer{}, false
	}
	a := answer{read: binary.NativeEndian.Uint32(b), errno: unix.Errno(binary.NativeEndian.Uint32(b[4:]))}
	return a, a.read <= BlockSize
}

// ReadProcess reads memory of a process into a buffer (process_vm_readv(2)), here and now. It returns how many bytes
// there were.
func ReadProcess(pid int32, address uint64, into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: unsafe.SliceData(into)}}
	local[0].SetLen(len(into))
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}
	for {
		n, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func init() {
	if selfexec.Is(name) {
		serve()
		os.Exit(0)
	}
}

// serve greets by an empty answer, and answers until the other end is closed.
func serve() {
	buffer, err := unix.Mmap(bufferDescriptor, 0, BlockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	if _, err := unix.Write(socketDescriptor, answer{}.encode()); err != nil {
		return
	}
	message := make([]byte, requestSize+1)
	for {
		n, err := unix.Read(socketDescriptor, message)
		if err == unix.EINTR {
			continue
		}
		r, ok := parseRequest(message[:max(n, 0)])
		if err != nil || !ok {
			return
		}
		var a answer
		read, err := ReadProcess(r.pid, r.address, buffer[:r.size])
		a.read = uint32(read)
		if err != nil {
			a.errno, _ = err.(unix.Errno)
		}
		if _, err := unix.Write(socketDescriptor, a.encode()); err != nil {
			return
		}
	}
}
