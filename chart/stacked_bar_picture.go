package chart

// stackedBars is how many bars SVG and PNG have at most.
const stackedBars = 150

func (s *StackedBar) picture(f frame) *picture {
	if s.count == 0 {
		return newEmptyPicture(s.Name, s.notes(0, 0, textWidth))
	}
	found, length := s.intervals(f.span, stackedBars)
	scale := Nanoseconds.scaleFor(s.greatest)
	p := newPicture(s.Name, 260)
	p.x = f.span.axisOf()
	p.x.last = max(p.x.last, float64(found[len(found)-1].begin+length))
	greatest := max(s.greatest, 1)
	p.y = axis{title: s.Axis + " [" + scale.symbol + "]", last: float64(greatest) * 1.05, ticks: numbersOf(0, greatest, 6, scale)}
	for _, in := range found {
		var low int64
		for i, part := range in.parts {
			high := low + part
			if high > low {
				p.boxes = append(p.boxes, box{point{float64(in.begin), float64(low)}, point{float64(in.begin) + 0.9*float64(length), float64(high)}, palette(i)})
			}
			low = high
		}
	}
	for i, part := range s.Parts {
		p.legend = append(p.legend, legendEntry{palette(i), shorten(part, textWidth/2)})
	}
	p.notes = s.notes(len(found), length, textWidth)
	return p
}
