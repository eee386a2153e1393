package report

import (
	"slices"
	"strings"
)

// shortenApart shortens different names so that they remain different, where there is room for that. What Shorten would
// make the same is shown by the parts in which it differs: …/lidar_2/…/points.
func shortenApart(names []string, width int) map[string]string {
	short := make(map[string]string, len(names))
	alike := make(map[string][]string)
	for _, name := range names {
		short[name] = Shorten(name, width)
		alike[short[name]] = append(alike[short[name]], name)
	}
	for _, group := range alike {
		if len(group) > 1 {
			for name, parts := range differingParts(group) {
				short[name] = withParts(name, parts, width)
			}
		}
	}
	return short
}

// differingParts returns for each of the names which of its parts not all of them have in the same place, counted from
// the begin.
func differingParts(names []string) map[string][]int {
	split := make(map[string][]string, len(names))
	for _, name := range names {
		split[name] = strings.Split(name, "/")
	}
	differ := make(map[string][]int, len(names))
	for name, parts := range split {
		for i, part := range parts {
			same := func(other string) bool { return i < len(split[other]) && split[other][i] == part }
			if !slices.ContainsFunc(names, func(other string) bool { return !same(other) }) {
				continue
			}
			differ[name] = append(differ[name], i)
		}
	}
	return differ
}

// withParts shows a name by some of its parts and its last one: whole if there is room, else by their ends, where names
// have numbers.
func withParts(name string, chosen []int, width int) string {
	parts := strings.Split(name, "/")
	last := len(parts) - 1
	if text := joinParts(parts, slices.Compact(append(slices.Clone(chosen), last))); Width(text) <= width {
		return text
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(i int) bool { return i == last })
	if len(chosen) == 0 {
		return ellipsis + ending(parts[last], width-1)
	}
	middle := joinParts(parts[:last], chosen)
	middle = strings.TrimSuffix(strings.TrimSuffix(middle, ellipsis), "/")
	const joint = "/" + ellipsis
	if room := width - Width(middle) - Width(joint); room > 0 {
		return middle + joint + ending(parts[last], room)
	}
	room := width - Width(ellipsis) - Width(joint)
	return ellipsis + strings.TrimPrefix(ending(middle, room-room/2), ellipsis) + joint + ending(parts[last], room/2)
}

// joinParts joins the parts with these indices, with an ellipsis for those in between.
func joinParts(parts []string, shown []int) string {
	var text strings.Builder
	next := 0
	for _, i := range shown {
		if i > next {
			text.WriteString(ellipsis + "/")
		}
		text.WriteString(parts[i])
		if next = i + 1; next < len(parts) {
			text.WriteString("/")
		}
	}
	if next < len(parts) {
		text.WriteString(ellipsis)
	}
	return text.String()
}
