package target

import (
	"fmt"
	"strconv"
	"strings"
)

// parseNamespaceLink reads the inode number out of "pid:[4026531836]".
func parseNamespaceLink(link string) (uint64, error) {
	_, rest, found := strings.Cut(link, ":[")
	number, closed := strings.CutSuffix(rest, "]")
	if !found || !closed {
		return 0, fmt.Errorf("namespace link %.100q", link)
	}
	return strconv.ParseUint(number, 10, 64)
}
