package chart

// canvas is a raster of dots in a terminal: two beside and four above each other in a character of Unicode's Braille
// patterns. Characters can be put over the dots.
type canvas struct {
	columns, rows int
	dots          []uint8
	marks         map[int]rune
}

const (
	dotsBeside = 2
	dotsAbove  = 4
	// braille is the character without a dot.
	braille = 0x2800
)

// dotBits are the bits of the dots of a character, by row and column.
var dotBits = [dotsAbove][dotsBeside]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func newCanvas(columns, rows int) *canvas {
	return &canvas{columns: columns, rows: rows, dots: make([]uint8, columns*rows), marks: make(map[int]rune)}
}

func (c *canvas) width() int  { return c.columns * dotsBeside }
func (c *canvas) height() int { return c.rows * dotsAbove }

// set sets a dot, counted from the top left. Those outside are left out.
func (c *canvas) set(x, y int) {
	if x < 0 || y < 0 || x >= c.width() || y >= c.height() {
		return
	}
	c.dots[y/dotsAbove*c.columns+x/dotsBeside] |= dotBits[y%dotsAbove][x%dotsBeside]
}

// line sets the dots from one to another (Bresenham).
func (c *canvas) line(x0, y0, x1, y1 int) {
	dx, dy := abs(x1-x0), -abs(y1-y0)
	stepX, stepY := signOf(x1-x0), signOf(y1-y0)
	for off := dx + dy; ; {
		c.set(x0, y0)
		if x0 == x1 && y0 == y1 {
			return
		}
		twice := 2 * off
		if twice >= dy {
			off += dy
			x0 += stepX
		}
		if twice <= dx {
			off += dx
			y0 += stepY
		}
	}
}

// mark puts a character over where a dot would be.
func (c *canvas) mark(x, y int, with rune) {
	if x < 0 || y < 0 || x >= c.width() || y >= c.height() {
		return
	}
	c.marks[y/dotsAbove*c.columns+x/dotsBeside] = with
}

// row returns a line of characters.
func (c *canvas) row(i int) string {
	line := make([]rune, c.columns)
	for column := range line {
		at := i*c.columns + column
		switch mark, marked := c.marks[at]; {
		case marked:
			line[column] = mark
		case c.dots[at] != 0:
			line[column] = braille + rune(c.dots[at])
		default:
			line[column] = ' '
		}
	}
	return string(line)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func signOf(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// position returns where of that many places a value of an interval belongs.
func position(value, first, last int64, places int) int {
	at := int(float64(value-first) / float64(last-first) * float64(places))
	return min(max(at, 0), places-1)
}
