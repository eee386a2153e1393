package perfetto

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// strings that packets name by a number, each written once. Numbers count from 1.
type interned struct {
	out   *packetWriter
	field protowire.Number // of InternedData
	ids   map[string]uint64
}

func newInterned(out *packetWriter, field protowire.Number) *interned {
	return &interned{out: out, field: field, ids: make(map[string]uint64)}
}

// id returns the number of a text.
func (i *interned) id(text string) uint64 {
	id := i.ids[text]
	if id == 0 {
		id = uint64(len(i.ids) + 1)
		i.ids[text] = id
		entry := appendString(appendVarint(nil, internedID, id), internedText, strings.ToValidUTF8(text, "\uFFFD"))
		i.out.message(packetInternedData, appendBytes(nil, i.field, entry))
	}
	return id
}

// dictionary has the interned strings of the trace.
type dictionary struct {
	categories, names, annotations, texts *interned
}

func newDictionary(out *packetWriter) *dictionary {
	return &dictionary{
		categories: newInterned(out, internedCategories), names: newInterned(out, internedNames),
		annotations: newInterned(out, internedAnnotationNames), texts: newInterned(out, internedAnnotationStrings),
	}
}

// event begins a track event.
func (d *dictionary) event(kind uint64, category, name string) []byte {
	b := appendVarint(nil, eventType, kind)
	b = appendVarint(b, eventCategoryIIDs, d.categories.id(category))
	return appendVarint(b, eventNameIID, d.names.id(name))
}

// text adds an argument to an event. Nothing is added for an empty text, which is an unknown one.
func (d *dictionary) text(event []byte, name, text string) []byte {
	if text == "" {
		return event
	}
	a := appendVarint(nil, annotationNameIID, d.annotations.id(name))
	return appendBytes(event, eventAnnotations, appendVarint(a, annotationStringIID, d.texts.id(text)))
}

// ownText is text for a text that hardly comes again.
func (d *dictionary) ownText(event []byte, name, text string) []byte {
	if text == "" {
		return event
	}
	a := appendVarint(nil, annotationNameIID, d.annotations.id(name))
	return appendBytes(event, eventAnnotations, appendString(a, annotationString, strings.ToValidUTF8(text, "\uFFFD")))
}

// number adds an argument to an event.
func (d *dictionary) number(event []byte, name string, value int64) []byte {
	return appendNumber(event, d.annotations.id(name), value)
}

// appendNumber adds an argument, whose name has that number, to an event.
func appendNumber(event []byte, name uint64, value int64) []byte {
	size := 1 + protowire.SizeVarint(name) + 1 + protowire.SizeVarint(uint64(value))
	event = append(event, byte(eventAnnotations)<<3|byte(protowire.BytesType))
	event = protowire.AppendVarint(event, uint64(size))
	event = append(event, byte(annotationNameIID)<<3)
	event = protowire.AppendVarint(event, name)
	event = append(event, byte(annotationInt)<<3)
	return protowire.AppendVarint(event, uint64(value))
}
