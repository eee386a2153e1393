package perfetto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// Compression says how packets are compressed.
type Compression string

// The compressions. Perfetto has long read deflate. It reads zstd since v58 (August 2026): an older one finds the
// trace empty.
const (
	Zstd         Compression = "zstd"
	Deflate      Compression = "deflate"
	Uncompressed Compression = "none"
)

// Compressions are all of them.
var Compressions = []Compression{Zstd, Deflate, Uncompressed}

// ErrCompression is returned for an unknown compression.
var ErrCompression = errors.New("unknown compression")

// bundleBytes is the size at which packets are compressed together. Perfetto wants less than 512 KB.
const bundleBytes = 256 << 10

// sequenceID is the sequence of all packets: which strings are interned counts within one.
const sequenceID = 1

// packetWriter writes packets in bundles. After an error it writes nothing more.
type packetWriter struct {
	out      io.Writer
	compress func(packets []byte) []byte // nil: not at all
	field    protowire.Number            // of what is compressed
	bundle   []byte
	framed   []byte
	written  int64
	err      error
}

func newPacketWriter(out io.Writer, how Compression) (*packetWriter, error) {
	w := &packetWriter{out: out, bundle: make([]byte, 0, bundleBytes+4096)}
	switch how {
	case Zstd:
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("compress by zstd: %w", err)
		}
		var compressed []byte
		w.field, w.compress = packetZstdCompressed, func(packets []byte) []byte {
			compressed = encoder.EncodeAll(packets, compressed[:0])
			return compressed
		}
	case Deflate:
		var compressed bytes.Buffer
		encoder, err := zlib.NewWriterLevel(&compressed, zlib.BestSpeed)
		if err != nil {
			return nil, fmt.Errorf("compress by deflate: %w", err)
		}
		w.field, w.compress = packetDeflated, func(packets []byte) []byte {
			compressed.Reset()
			encoder.Reset(&compressed)
			_, _ = encoder.Write(packets) // a buffer takes everything
			_ = encoder.Close()
			return compressed.Bytes()
		}
	case Uncompressed:
	default:
		return nil, fmt.Errorf("%w %q", ErrCompression, how)
	}
	return w, nil
}

// ofSequence is what every packet has that belongs to the sequence.
var ofSequence = func() []byte {
	b := appendVarint(nil, packetSequenceID, sequenceID)
	return appendVarint(b, packetSequenceFlags, sequenceNeedsState)
}()

// first writes the packet that the sequence begins with. All times are of one clock.
func (w *packetWriter) first() {
	defaults := appendVarint(nil, defaultsTimestampClockID, clockRealtime)
	b := appendVarint(nil, packetSequenceID, sequenceID)
	b = appendVarint(b, packetSequenceFlags, sequenceCleared)
	w.packet(appendBytes(b, packetDefaults, defaults))
}

// message writes a packet without a time.
func (w *packetWriter) message(field protowire.Number, message []byte) {
	w.packet(append(appendBytes(nil, field, message), ofSequence...))
}

// packet writes a packet.
func (w *packetWriter) packet(content []byte) {
	w.bundle = appendBytes(w.bundle, tracePacket, content)
	w.endBundle()
}

// occurred writes a packet with a track event, which happened at a time.
func (w *packetWriter) occurred(at int64, event []byte) { w.occurredOn(at, event, 0, nil) }

// occurredOn is occurred for an event on a track: event is what it begins with, more what comes behind the track.
func (w *packetWriter) occurredOn(at int64, event []byte, track uint64, more []byte) {
	b := w.bundle
	time, length := uint64(at), len(event)+len(more)
	if track != 0 {
		length += 1 + protowire.SizeVarint(track)
	}
	size := 1 + protowire.SizeVarint(time) + len(ofSequence) + 1 + protowire.SizeVarint(uint64(length)) + length
	b = append(b, byte(tracePacket)<<3|byte(protowire.BytesType))
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, byte(packetTimestamp)<<3)
	b = appendTime(b, time)
	b = append(b, ofSequence...)
	b = append(b, byte(packetTrackEvent)<<3|byte(protowire.BytesType))
	b = protowire.AppendVarint(b, uint64(length))
	b = append(b, event...)
	if track != 0 {
		b = append(b, byte(eventTrackUUID)<<3)
		b = protowire.AppendVarint(b, track)
	}
	w.bundle = append(b, more...)
	w.endBundle()
}

// appendTime is protowire.AppendVarint, faster for times since 1970 in nanoseconds, which are of nine bytes.
func appendTime(b []byte, time uint64) []byte {
	if time < 1<<56 || time >= 1<<63 {
		return protowire.AppendVarint(b, time)
	}
	// Eight groups of seven bits are spread to bytes: halves first, then quarters and eighths.
	x := time & (1<<56 - 1)
	x = x&0x0000_0000_0fff_ffff | x&0x00ff_ffff_f000_0000<<4
	x = x&0x0000_3fff_0000_3fff | x&0x0fff_c000_0fff_c000<<2
	x = x&0x007f_007f_007f_007f | x&0x3f80_3f80_3f80_3f80<<1
	const further = 0x8080_8080_8080_8080
	return append(binary.LittleEndian.AppendUint64(b, x|further), byte(time>>56))
}

func (w *packetWriter) endBundle() {
	if len(w.bundle) >= bundleBytes {
		w.flush()
	}
}

// flush writes what is in the bundle.
func (w *packetWriter) flush() {
	bundle := w.bundle
	w.bundle = w.bundle[:0]
	if len(bundle) == 0 || w.err != nil {
		return
	}
	if w.compress != nil {
		compressed := w.compress(bundle)
		length := protowire.SizeTag(w.field) + protowire.SizeBytes(len(compressed))
		w.framed = protowire.AppendTag(w.framed[:0], tracePacket, protowire.BytesType)
		w.framed = protowire.AppendVarint(w.framed, uint64(length))
		bundle = appendBytes(w.framed, w.field, compressed)
		w.framed = bundle
	}
	n, err := w.out.Write(bundle)
	w.written += int64(n)
	w.err = err
}

func appendVarint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func appendFixed64(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), value)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendString(b []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
}
