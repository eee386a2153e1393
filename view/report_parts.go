package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
)

// partBytes is the packed size at which a part ends. It is small enough for the page to unpack one while somebody
// zooms.
const partBytes = 64 << 10

// What encloses the contents and each part.
const (
	contentsBegin = `<script type="application/json" id="contents">{"format":2,"parts":[`
	contentsEnd   = `]}</script>`
	partBegin     = `<script type="application/octet-stream;gzip+base64" class="answers">`
	partEnd       = `</script>`
)

// partMargin is what a part takes at most, packed, besides its answers and their names: in bytes.
const partMargin = 64

// reportParts are the answers of a report in packed parts, and the contents that tell which part has which answer. The
// page unpacks a part when it wants an answer of it, so a large report shows itself as soon as a small one.
type reportParts struct {
	contents strings.Builder // of parts and answers so far, as JSON without its last bracket
	ended    strings.Builder // the parts that have ended, as HTML
	packed   bytes.Buffer    // the one that has not
	gzip     *gzip.Writer
}

func newReportParts() *reportParts {
	p := new(reportParts)
	p.gzip = gzip.NewWriter(&p.packed)
	return p
}

// nameOf is a key as JSON that can stand in HTML: the characters of keys need no escape in either.
func nameOf(k key) string { return `"` + k.String() + `"` }

// isOpen tells whether there is a part that has not ended.
func (p *reportParts) isOpen() bool { return p.packed.Len() > 0 }

// add adds an answer, which is JSON.
func (p *reportParts) add(k key, answer []byte) error {
	name := nameOf(k)
	separator := ","
	if !p.isOpen() {
		if p.contents.Len() > 0 {
			p.contents.WriteByte(',')
		}
		p.contents.WriteByte('[')
		separator = "{"
	} else {
		p.contents.WriteByte(',')
	}
	p.contents.WriteString(name)
	for _, text := range [][]byte{[]byte(separator + name + ":"), answer} {
		if _, err := p.gzip.Write(text); err != nil {
			return err
		}
	}
	if err := p.gzip.Flush(); err != nil { // so that it is known how much room is left
		return err
	}
	if p.packed.Len() < partBytes {
		return nil
	}
	return p.end()
}

// end ends a part that has not ended.
func (p *reportParts) end() error {
	if !p.isOpen() {
		return nil
	}
	if _, err := p.gzip.Write([]byte("}")); err != nil {
		return err
	}
	if err := p.gzip.Close(); err != nil {
		return err
	}
	p.contents.WriteByte(']')
	p.ended.WriteString(partBegin)
	p.ended.WriteString(base64.StdEncoding.EncodeToString(p.packed.Bytes()))
	p.ended.WriteString(partEnd)
	p.packed.Reset()
	p.gzip.Reset(&p.packed)
	return nil
}

// sizeWith is what all would take as HTML, in bytes, with one more answer that takes so many bytes when it is packed.
func (p *reportParts) sizeWith(k key, packed int) int {
	ofKey := len(nameOf(k)) + len("[],")
	ofPart := len(partBegin) + base64.StdEncoding.EncodedLen(p.packed.Len()+len(nameOf(k))+packed+partMargin) + len(partEnd)
	return len(contentsBegin) + p.contents.Len() + ofKey + len(contentsEnd) + p.ended.Len() + ofPart
}

// html ends the last part, and returns the contents and all parts.
func (p *reportParts) html() (string, error) {
	if err := p.end(); err != nil {
		return "", err
	}
	return contentsBegin + p.contents.String() + contentsEnd + p.ended.String(), nil
}
