package chart

func (s *TimeSeries) picture(f frame) *picture {
	if s.count+s.absent == 0 {
		return newEmptyPicture(s.Name, s.notes(textWidth))
	}
	first, last := s.values()
	scale := s.Unit.scaleFor(max(abs64(first), abs64(last)))
	p := newPicture(s.Name, 190)
	p.x = f.span.axisOf()
	p.y = axis{title: s.Axis + " [" + scale.symbol + "]", first: float64(first), last: float64(last), ticks: numbersOf(first, last, 5, scale)}
	p.notes = s.notes(textWidth)
	curve := polyline{color: blue, width: 0.5}
	s.eachMoment(func(at int64, m moment) {
		x := float64(at - f.span.first)
		if m.absent > 0 {
			p.marks = append(p.marks, mark{point{x, float64(first)}, red, cross})
		}
		switch {
		case m.count == 0:
		case m.min == m.max:
			curve.points = append(curve.points, point{x, float64(m.min)})
			if s.moments.coarseness == 0 && s.count <= keptMoments/4 {
				p.marks = append(p.marks, mark{point{x, float64(m.min)}, blue, dot})
			}
		default:
			curve.points = append(curve.points, point{x, float64(m.min)}, point{x, float64(m.max)})
		}
	})
	p.lines = append(p.lines, curve)
	return p
}
