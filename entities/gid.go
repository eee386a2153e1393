package entities

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// gidSize is that of a gid without the zeros that Humble appends.
	gidSize = 16
	// guidPrefixSize is that of the part of a DDS GUID that names the participant.
	guidPrefixSize = 12
	// cycloneClientSize is that of the instance handle by which servers know a client.
	cycloneClientSize = 8
)

// The last byte of a DDS GUID tells what it names.
var (
	writerKinds = []byte{0x02, 0x03}
	readerKinds = []byte{0x04, 0x07}
)

// publisherGIDAt reads the gid of an rmw_publisher_t, in hexadecimal. Only Fast DDS and Cyclone DDS are known.
func (r reader) publisherGIDAt(rmw trace.Address) (string, error) {
	identifier, data, err := r.rmwDataAt(rmw, r.layout.GID.PublisherData)
	if err != nil {
		return "", err
	}
	var at trace.Address
	switch {
	case isFastDDS(identifier):
		at = data + trace.Address(r.layout.GID.FastDDSPublisher)
	case isCyclone(identifier):
		at = data + trace.Address(r.layout.GID.CyclonePublisher)
	default:
		return "", fmt.Errorf("gids of %s: %w", identifier, errImplausible)
	}
	return r.rmwGIDAt(at, identifier)
}

// publisherInstanceAt reads the instance handle of an rmw_publisher_t of Cyclone DDS, in hexadecimal.
func (r reader) publisherInstanceAt(rmw trace.Address) (string, error) {
	if _, err := r.readable(); err != nil {
		return "", err
	}
	identifier, data, err := r.rmwDataAt(rmw, r.layout.GID.PublisherData)
	if err != nil {
		return "", err
	}
	if !isCyclone(identifier) {
		return "", fmt.Errorf("instance handles of %s: %w", identifier, errImplausible)
	}
	return r.hexAt(data+trace.Address(r.layout.GID.CycloneHandle), cycloneClientSize)
}

// rmwGIDAt reads an rmw_gid_t of an implementation of rmw.
func (r reader) rmwGIDAt(at trace.Address, identifier string) (string, error) {
	owner, err := r.namePointer(at, isIdentifier)
	if err != nil {
		return "", fmt.Errorf("no gid: %w", err)
	}
	// A library may go by a longer name than its gids (rmw_fastrtps_dynamic_cpp).
	if owner != identifier && (!isFastDDS(owner) || !isFastDDS(identifier)) {
		return "", fmt.Errorf("a gid of %s in an object of %s: %w", owner, identifier, errImplausible)
	}
	return r.hexAt(at+wordSize, gidSize)
}

// clientGIDAt reads what servers know an rmw_client_t by, in hexadecimal.
func (r reader) clientGIDAt(rmw trace.Address) (string, error) {
	identifier, data, err := r.rmwDataAt(rmw, r.layout.GID.ClientData)
	if err != nil {
		return "", err
	}
	switch {
	case isCyclone(identifier):
		publisher, err := r.pointer(data + trace.Address(r.layout.GID.CycloneClient))
		if err != nil {
			return "", err
		}
		return r.hexAt(publisher+trace.Address(r.layout.GID.CycloneHandle), cycloneClientSize)
	case !isFastDDS(identifier):
		return "", fmt.Errorf("gids of %s: %w", identifier, errImplausible)
	}
	var guids [2 * gidSize]byte
	at := data + trace.Address(r.layout.GID.FastDDSClient)
	if err := r.readAt(guids[:], uint64(at)); err != nil {
		return "", err
	}
	return clientGUID(guids[:])
}

// clientGUID returns what Fast DDS's servers know a client by, in hexadecimal. guids are the GUID of the writer of
// requests, then that of the reader of responses, of one participant. Requests carry the latter.
func clientGUID(guids []byte) (string, error) {
	writer, reader := guids[:gidSize], guids[gidSize:]
	if !bytes.Equal(writer[:guidPrefixSize], reader[:guidPrefixSize]) ||
		!bytes.Contains(writerKinds, writer[gidSize-1:]) || !bytes.Contains(readerKinds, reader[gidSize-1:]) {
		return "", fmt.Errorf("%x are no GUIDs of a writer and a reader: %w", guids, errImplausible)
	}
	return hex.EncodeToString(reader), nil
}

// clientIdentity returns what servers know a client by, as its initialization event tells; "" if it does not.
func clientIdentity(text string) string {
	identity, err := hex.DecodeString(text)
	if err != nil {
		return ""
	}
	switch len(identity) {
	case cycloneClientSize:
		if len(bytes.Trim(identity, "\x00")) > 0 {
			return hex.EncodeToString(identity)
		}
	case 2 * gidSize:
		if gid, err := clientGUID(identity); err == nil {
			return gid
		}
	}
	return ""
}

// rmwDataAt returns the name of an rmw object's implementation and what the implementation keeps for it.
func (r reader) rmwDataAt(rmw trace.Address, offset uint64) (identifier string, data trace.Address, err error) {
	if identifier, err = r.identifierAt(rmw); err != nil {
		return "", 0, fmt.Errorf("no rmw object: %w", err)
	}
	data, err = r.pointer(rmw + trace.Address(offset))
	return identifier, data, err
}

// hexAt reads bytes that are not all zero.
func (r reader) hexAt(at trace.Address, size int) (string, error) {
	value := make([]byte, size)
	if err := r.readAt(value, uint64(at)); err != nil {
		return "", err
	}
	if len(bytes.Trim(value, "\x00")) == 0 {
		return "", fmt.Errorf("the gid at %v is null: %w", at, errImplausible)
	}
	return hex.EncodeToString(value), nil
}

func isFastDDS(identifier string) bool { return strings.HasPrefix(identifier, "rmw_fastrtps") }

func isCyclone(identifier string) bool { return strings.HasPrefix(identifier, "rmw_cyclonedds") }

// gidText returns a gid as tracepoints pass it without the zeros that Humble appends, "" if it is none.
func gidText(text string) string {
	if gid, err := hex.DecodeString(text); err != nil || len(gid) < gidSize {
		return ""
	}
	return strings.ToLower(text[:2*gidSize])
}
