package merge

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// gidSize is the size of a gid in bytes. Humble's rmw_gid_t has 24, of which the last 8 are 0.
const gidSize = 16

// gidText writes a gid as the dataset has it: its bytes in hexadecimal. The kernel side copied them into words.
func gidText(words [2]uint64, size int) string {
	if words == [2]uint64{} {
		return ""
	}
	var gid [gidSize]byte
	binary.NativeEndian.PutUint64(gid[:8], words[0])
	binary.NativeEndian.PutUint64(gid[8:], words[1])
	return hex.EncodeToString(gid[:size])
}

// gidTexts remembers the texts of publishers' gids: there are few, and each comes with every message.
type gidTexts map[[2]uint64]string

// maxGIDTexts is more than a system has publishers; processes come and go.
const maxGIDTexts = 1 << 14

func (g gidTexts) of(words [2]uint64) string {
	text, known := g[words]
	if !known {
		if len(g) >= maxGIDTexts {
			clear(g)
		}
		text = gidText(words, gidSize)
		g[words] = text
	}
	return text
}

// publisherGID is "" where a message info has no gid: Cyclone DDS gives a handle in its place, which means something to
// its own process only. A GUID ends with what it names, a handle is shorter.
func publisherGID(f *abi.Feed, texts gidTexts) string {
	if f.Details&abi.DetailGID == 0 || f.GID[1] == 0 {
		return ""
	}
	return texts.of(f.GID)
}

func messageTimestamp(f *abi.Feed) trace.Optional[int64] {
	if f.Details&abi.DetailMessageStamp == 0 {
		return trace.Optional[int64]{}
	}
	return trace.Some(f.MessageStamp)
}

func takeKind(details uint32) trace.TakeKind {
	switch {
	case details&abi.DetailSerialized != 0:
		return trace.TakeSerialized
	case details&abi.DetailLoaned != 0:
		return trace.TakeLoaned
	}
	return trace.TakeRMW
}

func publishKind(details uint16) trace.PublishKind {
	switch {
	case details&abi.DetailSerialized != 0:
		return trace.PublishSerialized
	case details&abi.DetailLoaned != 0:
		return trace.PublishLoaned
	case details&abi.DetailFormUnknown != 0:
		return ""
	}
	return trace.PublishMessage
}

// provenance says whether the intra-process part of a record was concluded from functions of Humble's rclcpp.
func provenance(header abi.RecordHeader) trace.Provenance {
	if header.Flags&abi.FlagDerived != 0 {
		return trace.Derived
	}
	return trace.FromTracepoint
}
