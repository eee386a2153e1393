package analyze

import (
	"testing"
	"unsafe"
)

// TestKnownPartsAreSmall holds what the documentation says of the memory that a message takes.
func TestKnownPartsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(receivedParts{}) + unsafe.Sizeof(publishedParts{}); size != 312 {
		t.Errorf("%d bytes", size)
	}
}
