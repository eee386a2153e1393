package standin

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMessageDefinitionsAreInstalled(t *testing.T) {
	for _, distro := range Distros() {
		for _, stripped := range []bool{false, true} {
			prefix := Directory(t, distro, stripped)
			text, err := os.ReadFile(filepath.Join(prefix, "share/standin_msgs/msg/Sample.msg"))
			if err != nil || len(text) == 0 {
				t.Errorf("%s: %q, %v", prefix, text, err)
			}
		}
	}
}
