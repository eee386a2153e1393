package perfetto

import "github.com/caret-bpf/caret-bpf/analyze"

// drawnWays draws the ways of messages along paths: a slice each, with one in it for each hop. They have a correlation
// id in common.
type drawnWays struct {
	*drawing
	top   uint64 // the track above all
	paths map[string]*drawnPath
	way   []analyze.PathHopInstance // hops of one way
	parts wayParts
}

type drawnPath struct {
	lanes *lanes
	begin []byte
}

func newDrawnWays(d *drawing, parts wayParts) *drawnWays {
	return &drawnWays{drawing: d, paths: make(map[string]*drawnPath), parts: parts}
}

// add takes the next hop. Those of a way come one after the other.
func (w *drawnWays) add(hop *analyze.PathHopInstance) {
	if !hop.Instance.Valid || !hop.End.Valid {
		return
	}
	if n := len(w.way); n > 0 && (w.way[n-1].Path != hop.Path || w.way[n-1].Instance != hop.Instance) {
		w.end()
	}
	w.way = append(w.way, *hop)
}

// end draws the way whose hops have come.
func (w *drawnWays) end() {
	if len(w.way) == 0 {
		return
	}
	w.summary.Ways++
	path := w.paths[w.way[0].Path]
	if path == nil {
		if w.top == 0 {
			w.top = w.describe("paths", 0)
		}
		name := w.way[0].Path
		path = &drawnPath{lanes: &lanes{name: name, parent: w.top}, begin: w.event(sliceBegin, categoryPath, name)}
		w.paths[name] = path
	}
	begin, end := w.way[0].Begin, w.way[0].End.Value
	for i := range w.way {
		begin, end = min(begin, w.way[i].Begin), max(end, w.way[i].End.Value)
	}
	track := path.lanes.free(&w.tracks, begin, end).uuid
	b := w.number(path.begin[:len(path.begin):len(path.begin)], "instance", int64(w.way[0].Instance.Value))
	w.begin(begin, track, w.partsOf(b, w.parts.ofWay(w.way)))
	at := begin
	for i := range w.way {
		hop := &w.way[i]
		if hop.Hop == 0 {
			continue
		}
		// A hop between hosts may end before it begins, as their clocks differ.
		at = max(at, hop.Begin)
		b := w.event(sliceBegin, categoryPath, string(hop.Kind)+" "+hop.Name)
		w.begin(at, track, w.partsOf(b, w.parts.ofHop(hop)))
		at = max(at, hop.End.Value)
		w.drawing.end(track, at)
	}
	w.drawing.end(track, end)
	w.way = w.way[:0]
}

func (w *drawnWays) begin(at int64, track uint64, event []byte) {
	w.occurred(at, appendVarint(appendVarint(event, eventTrackUUID, track), eventCorrelationID, w.summary.Ways))
}
