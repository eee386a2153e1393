package rank

// chunkValues is the number of values in a chunk.
const chunkValues = 1 << 14

// Chunks hold values, so that adding one never moves those of other chunks. The zero Chunks are empty.
type Chunks[T any] struct {
	chunks [][]T
	count  int
}

// Add adds a value.
func (c *Chunks[T]) Add(value T) {
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last]) >= chunkValues {
		var chunk []T // most are few: the first chunk grows
		if last >= 0 {
			chunk = make([]T, 0, chunkValues)
		}
		c.chunks = append(c.chunks, chunk)
		last++
	}
	c.chunks[last] = append(c.chunks[last], value)
	c.count++
}

// Take adds the values of others, which are not used any more.
func (c *Chunks[T]) Take(others *Chunks[T]) {
	c.chunks = append(c.chunks, others.chunks...)
	c.count += others.count
}

// Len is the number of values.
func (c *Chunks[T]) Len() int { return c.count }

// All returns the chunks, in the order in which their values were added. None is empty.
func (c *Chunks[T]) All() [][]T { return c.chunks }
