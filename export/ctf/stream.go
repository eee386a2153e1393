package ctf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/google/uuid"
)

const (
	packetMagic = 0xc1fc1fc1
	// packetHeaderBytes is the size of what a packet begins with: header and context.
	packetHeaderBytes = 4 + 16 + 4 + 8 + 8 + 8 + 8 + 8 + 4
	// packetBytes is the size from which on a packet is closed.
	packetBytes = 64 << 10
)

// mostCPUs is how many CPUs a Linux kernel can have. A dataset may say anything.
const mostCPUs = 8192

// unknownCPU is the number of the stream of what happened on no such CPU.
const unknownCPU = -1

// streams are the files of a trace: one for each CPU, as LTTng has them.
type streams struct {
	folder     *folder
	identifier uuid.UUID
	losses     *losses
	of         map[int32]*stream
	events     uint64
}

// stream is the file of a CPU.
type stream struct {
	cpu         int32
	file        *os.File
	packet      []byte
	first, last int64
	// discarded is how much was lost, as far as the packets of this CPU tell.
	discarded uint64
}

func newStreams(folder *folder, identifier uuid.UUID, losses *losses) *streams {
	return &streams{folder: folder, identifier: identifier, losses: losses, of: make(map[int32]*stream)}
}

// add adds an event, none of which may be earlier than the one before.
func (s *streams) add(at int64, cpu int32, event []byte) error {
	if cpu < 0 || cpu >= mostCPUs {
		cpu = unknownCPU
	}
	of := s.of[cpu]
	if of == nil {
		var err error
		if of, err = s.open(cpu); err != nil {
			return err
		}
	}
	if len(of.packet) >= packetBytes {
		if err := s.closePacket(of); err != nil {
			return err
		}
	}
	if len(of.packet) == 0 {
		of.packet = append(of.packet, make([]byte, packetHeaderBytes)...)
		of.first = at
	}
	of.packet = append(of.packet, event...)
	of.last = at
	s.events++
	return nil
}

func (s *streams) open(cpu int32) (*stream, error) {
	name := "channel0_unknown"
	if cpu != unknownCPU {
		name = fmt.Sprintf("channel0_%d", cpu)
	}
	file, err := s.folder.create(name)
	if err != nil {
		return nil, err
	}
	of := &stream{cpu: cpu, file: file}
	s.of[cpu] = of
	return of, nil
}

// closePacket writes the packet. Nobody knows on which CPU something was lost: the first packet that ends later tells.
func (s *streams) closePacket(of *stream) error {
	if len(of.packet) == 0 {
		return nil
	}
	of.discarded = saturatingAdd(of.discarded, s.losses.until(of.last))
	header := binary.LittleEndian.AppendUint32(of.packet[:0], packetMagic)
	header = append(header, s.identifier[:]...)
	header = binary.LittleEndian.AppendUint32(header, 0) // of the stream's class
	header = binary.LittleEndian.AppendUint64(header, uint64(of.first))
	header = binary.LittleEndian.AppendUint64(header, uint64(of.last))
	header = binary.LittleEndian.AppendUint64(header, uint64(len(of.packet))*8)
	header = binary.LittleEndian.AppendUint64(header, uint64(len(of.packet))*8)
	header = binary.LittleEndian.AppendUint64(header, of.discarded)
	binary.LittleEndian.AppendUint32(header, uint32(of.cpu))
	err := s.folder.append(of.file, of.packet)
	of.packet = of.packet[:0]
	return err
}

// finish writes what waits.
func (s *streams) finish() error {
	cpus := slices.Sorted(maps.Keys(s.of))
	for i, cpu := range cpus {
		of := s.of[cpu]
		if i == len(cpus)-1 {
			of.discarded = saturatingAdd(of.discarded, s.losses.rest())
		}
		if err := s.closePacket(of); err != nil {
			return err
		}
	}
	return nil
}
