package analyze

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// mostSent is how many messages are kept to be found where they arrive. Of more, a share is kept.
const mostSent = 1 << 19

// callPart tells requests from responses.
type callPart uint8

const (
	noCall callPart = iota
	requestOf
	responseTo
)

// messageKey identifies a message where it was sent and where it arrived: one of a topic by its source timestamp, a
// request or a response by the client and the sequence number.
type messageKey struct {
	of     string // the topic or the service
	call   callPart
	client string
	number int64
}

type sentMessage struct {
	host int
	at   int64
	gid  string
	by   system.Place
	// ambiguous: several messages have the key.
	ambiguous bool
}

// sentMessages are those that were sent, or an even share of them.
type sentMessages struct {
	room  int
	share uint64 // a message is kept if its hash has none of these bits
	kept  map[messageKey]sentMessage
}

func newSentMessages(room int) *sentMessages {
	return &sentMessages{room: room, kept: make(map[messageKey]sentMessage)}
}

func (s *sentMessages) isKept(key messageKey) bool {
	return s.share == 0 || key.hash()&s.share == 0
}

// hash is the same each time, so that answers are.
func (k messageKey) hash() uint64 {
	text := binary.LittleEndian.AppendUint64([]byte{byte(k.call)}, uint64(k.number))
	text = binary.LittleEndian.AppendUint64(text, uint64(len(k.of)))
	text = append(append(text, k.of...), k.client...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

func (s *sentMessages) add(key messageKey, m sentMessage) {
	if !s.isKept(key) {
		return
	}
	if known, ok := s.kept[key]; ok {
		// Two recorders of a host have one message twice. It was not sent before the earlier of them.
		m.at = min(m.at, known.at)
		m.ambiguous = known.ambiguous || known.host != m.host || known.by != m.by
	}
	s.kept[key] = m
	for len(s.kept) > s.room {
		s.share = s.share<<1 | 1
		for key := range s.kept {
			if !s.isKept(key) {
				delete(s.kept, key)
			}
		}
	}
}

// find returns the message that arrived, if it is certain which one it was. gid is that of its publisher, if the
// receiver was told.
func (s *sentMessages) find(key messageKey, gid string) (sentMessage, bool) {
	m, ok := s.kept[key]
	if !ok || m.ambiguous || gid != "" && m.gid != "" && gid != m.gid {
		return sentMessage{}, false
	}
	return m, true
}
