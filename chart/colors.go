package chart

import "image/color"

// Colors that people with any color vision tell apart (Okabe and Ito), without the yellow: it is too light for lines.
var (
	blue   = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	green  = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	purple = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	sky    = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	// red is for what was lost or is unknown.
	red   = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	gray  = color.NRGBA{0x99, 0x99, 0x99, 0xff}
	pale  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	black = color.NRGBA{0x00, 0x00, 0x00, 0xff}
)

// palette returns the color of the i-th of several things. The colors come again in darker shades.
func palette(i int) color.NRGBA {
	colors := []color.NRGBA{blue, orange, green, purple, sky}
	c := colors[i%len(colors)]
	for range i / len(colors) % 3 {
		c.R, c.G, c.B = c.R/3*2, c.G/3*2, c.B/3*2
	}
	return c
}
