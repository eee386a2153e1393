package lake

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/docs"
)

// TestDocumentation compares the tables of docs/lake.md with the structs. `make docs` writes them.
func TestDocumentation(t *testing.T) {
	for _, table := range Tables() {
		if err := docs.Check("../../docs/lake.md", table.Name, columnTable(t, table)); err != nil {
			t.Error(err)
		}
	}
}

func columnTable(t *testing.T, table Table) []byte {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("| column | type | null | meaning |\n|---|---|---|---|\n")
	for i := range table.Columns {
		c := &table.Columns[i]
		meaning, null := c.Meaning, "no"
		if meaning == "" {
			if table.Name != TableLoss {
				t.Errorf("nothing says what %s of %s is", c.Name, table.Name)
			}
			meaning = "as in the dataset's [`loss`](dataset.md#loss)"
		}
		if c.Nullable {
			null = "can be"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, null, meaning)
	}
	return text.Bytes()
}
