package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

var (
	// ErrRunning is returned for a recording that goes on.
	ErrRunning = errors.New("it is still being recorded")
	// ErrDamaged is wrapped by the error for a recording of which not everything can be read.
	ErrDamaged = errors.New("it is damaged")
	// ErrPublished is wrapped by the error for a recording that was published in another way, or is so meanwhile.
	ErrPublished = errors.New("it is published in another way")
)

// windowRows is the number of rows of a window of the recording. Its rows have more in them than those of other
// queries, so fewer are held at a time.
const windowRows = 1 << 16

// Request says how a recording is put into a lake.
type Request struct {
	// Keys are the partition keys: KeyDate, and attributes. None stands for DefaultKeys.
	Keys []string
	// Damaged publishes what can be read of a damaged recording.
	Damaged bool
	// Replace puts a recording anew that is in the lake already. A copy of it that has more, and lacks nothing of what
	// is there, is put in its place anyway.
	Replace bool
	// Paths finds the paths of path_fact and hop_fact; nil: there are none. PathsAsked says how they are asked for: a
	// recording is published in the same way if that is the same.
	Paths       func(context.Context, *analyze.Query) ([]*system.Path, error)
	PathsAsked  string
	PathOptions analyze.PathOptions
	// Progress, if not nil, is called as Query.Progress is, for each pass through the recording.
	Progress func(read, total int64)
}

// Result says what became of a recording.
type Result struct {
	// Recording is its ID.
	Recording string
	// Already says that it was in the lake, so that nothing was done.
	Already bool
	// Files, Rows and Bytes are those of all tables but recording.
	Files, Rows, Bytes int64
	// Warnings are those of queries: what the facts lack.
	Warnings []string
}

// CheckKeys returns an error that wraps ErrPartition for keys that cannot be partition keys: each is an attribute's or
// KeyDate, and no column of a table. Names that differ in case only are the same.
func CheckKeys(keys []string) error {
	for i, key := range keys {
		if err := trace.CheckAttributeKey(key); err != nil {
			return fmt.Errorf("%w: %w", ErrPartition, err)
		}
		isKey := func(name string) bool { return strings.EqualFold(name, key) } // many engines take them for one column
		if slices.ContainsFunc(keys[:i], isKey) {
			return fmt.Errorf("%w: %s is named twice", ErrPartition, key)
		}
		for _, table := range Tables() {
			if isKey(leadingID) || slices.ContainsFunc(table.Columns, func(c Column) bool { return isKey(c.Name) }) {
				return fmt.Errorf("%w: %s is a column of table %s", ErrPartition, key, table.Name)
			}
		}
	}
	return nil
}

// Publish puts a recording into the lake. When it returns without an error, the recording is there as a whole. Else
// nothing of it is visible, and the next Publish completes it. Errors wrap ErrRunning, ErrDamaged, ErrPublished,
// ErrPartition, ErrUnwritable or ErrUnreachable.
func (l *Lake) Publish(ctx context.Context, d *trace.Dataset, request Request) (result Result, err error) {
	if d.Live() {
		return result, fmt.Errorf("%s: %w: publish it when it has ended, or a snapshot of it (caret-bpf ctl snapshot)", d.Dir(), ErrRunning)
	}
	if len(request.Keys) == 0 {
		request.Keys = DefaultKeys
	}
	if err := CheckKeys(request.Keys); err != nil {
		return result, err
	}
	p := &publishing{lake: l, dataset: d, request: &request}
	if p.id, err = RecordingID(ctx, d); err != nil {
		return result, err
	}
	for _, key := range request.Keys {
		p.manifest.Keys = append(p.manifest.Keys, Key{Name: key})
	}
	p.manifest.Format, p.manifest.Recording, p.manifest.Paths = FormatVersion, p.id, request.PathsAsked
	if p.manifest.Attributes, err = p.attributes(ctx); err != nil {
		return result, err
	}
	if p.manifest.Recorded, err = countRows(ctx, d); err != nil {
		return result, err
	}
	result, err = p.publish(ctx)
	if err != nil && (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) && !errors.Is(err, ErrUnwritable) {
		err = fmt.Errorf("%w: no space is left where files are staged (%w): free some and publish again; nothing half is visible", ErrUnwritable, err)
	}
	if err != nil {
		err = fmt.Errorf("publish %s: %w", d.Dir(), err)
	}
	return result, err
}

// publishing is one recording on its way into a lake.
type publishing struct {
	lake     *Lake
	dataset  *trace.Dataset
	request  *Request
	id       string
	manifest manifest
	// isRead says that the manifest names the damaged segments.
	isRead bool
	// missing are the rows that are gone or cannot be read.
	missing trace.Optional[int64]
}

func (p *publishing) publish(ctx context.Context) (result Result, err error) {
	result.Recording = p.id
	root, folder := p.lake.store.staging()
	there, err := p.isThere(ctx)
	if err != nil {
		return result, err
	}
	if there != nil {
		return p.tell(result, there), errors.Join(p.forgetClaim(ctx, there), sweepStaging(root, folder, p.lake.as))
	}
	s, err := newStaging(root, folder, p.lake.as)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	files, warnings, err := p.stage(ctx, s)
	result.Warnings = warnings
	if errors.Is(err, ErrDamaged) {
		if there, failed := p.isThere(ctx); there != nil || failed != nil {
			return p.tell(result, there), failed
		}
	}
	if err != nil {
		return result, err
	}
	if there, err = p.commit(ctx, s, files); err != nil {
		return result, err
	}
	if there != nil {
		return p.tell(result, there), nil
	}
	result = p.tell(result, &p.manifest)
	result.Already = false
	return result, nil
}

// tell tells of a recording that is in the lake.
func (p *publishing) tell(result Result, m *manifest) Result {
	if m == nil {
		return result
	}
	result.Already = true
	for i := range m.Files {
		result.Files++
		result.Rows += m.Files[i].Rows
		result.Bytes += m.Files[i].Bytes
	}
	return result
}

// isThere returns the manifest of the recording if it is in the lake and nothing is to be put in its place. The error
// wraps ErrPublished if it was published in another way.
func (p *publishing) isThere(ctx context.Context) (*manifest, error) {
	m, err := readManifest(ctx, p.lake.store, p.id)
	switch {
	case errors.Is(err, ErrManifest) && p.request.Replace:
		return nil, nil
	case errors.Is(err, ErrManifest):
		return nil, fmt.Errorf("%w; --replace publishes the recording anew", err)
	case m == nil || err != nil || p.request.Replace:
		return nil, err
	}
	if has, err := p.lake.store.has(ctx, m.Row.Name); err != nil || !has {
		return nil, err
	}
	if !m.askedLike(&p.manifest) {
		return nil, fmt.Errorf("%w: %s, by keys %s and paths %q; --replace puts it there anew", ErrPublished, p.id, strings.Join(keyNames(m.Keys), ", "), m.Paths)
	}
	switch more, less := p.manifest.compareContent(m); {
	case more && less:
		return nil, fmt.Errorf("%w: %s, from a copy of it: this one has what that one lacks, and the other way round; --replace puts it there anew", ErrPublished, p.id)
	case more && !less:
		return nil, nil
	case !maps.Equal(m.Attributes, p.manifest.Attributes):
		return nil, fmt.Errorf("%w: %s, with other attributes; --replace puts it there anew", ErrPublished, p.id)
	}
	return m, nil
}

func keyNames(keys []Key) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Name
	}
	return names
}

// stage makes the files, that with the row of recording last.
func (p *publishing) stage(ctx context.Context, s *staging) (files []stagedFile, warnings []string, err error) {
	query, err := analyze.NewQuery(ctx, analyze.Filter{}, p.dataset)
	if err != nil {
		return nil, nil, err
	}
	query.Progress, query.WindowRows = p.request.Progress, windowRows
	defer func() { warnings = query.Warnings }()
	span, known, err := query.TimeSpan(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range p.manifest.Keys {
		key := &p.manifest.Keys[i]
		key.Value = p.manifest.Attributes[key.Name]
		if key.Name == KeyDate {
			key.Value = dateOf(span, known)
		}
	}
	part, err := newPartition(p.id, p.manifest.Keys)
	if err != nil {
		return nil, nil, err
	}
	var paths []*system.Path
	if p.request.Paths != nil {
		if paths, err = p.request.Paths(ctx, query); err != nil {
			return nil, nil, err
		}
	}
	host := ""
	if session := p.dataset.Session(); session != nil {
		host = session.Host.Name
	}
	f := newFacts(query, part, s, host)
	if err := f.write(ctx, p.manifest.Attributes, paths, p.request.PathOptions); err != nil {
		return nil, nil, err
	}
	if err := p.checkDamage(query); err != nil {
		return nil, nil, err
	}
	row, err := p.row(ctx, f, span, known)
	if err != nil {
		return nil, nil, err
	}
	w := newTableWriter[RecordingRow](TableRecording, part, s.create)
	if err := w.write([]RecordingRow{row}); err != nil {
		w.abandon()
		return nil, nil, err
	}
	of, err := w.close()
	return append(f.files, of...), nil, err
}

// attributes are those of the recording.
func (p *publishing) attributes(ctx context.Context) (map[string]string, error) {
	if session := p.dataset.Session(); session != nil {
		return session.Attributes, nil
	}
	attributes := make(map[string]string)
	err := trace.Scan(ctx, p.dataset, trace.TableAttribute, func(rows []trace.Attribute) error {
		for _, row := range rows {
			attributes[row.Key] = row.Value
		}
		return nil
	})
	var damaged *trace.DamageError
	if errors.As(err, &damaged) { // which is told when all is read
		err = nil
	}
	return attributes, err
}

// countRows counts what there is of a recording, by its tables. What is damaged is left out.
func countRows(ctx context.Context, d *trace.Dataset) (map[string]uint64, error) {
	tables, err := d.Tables()
	if err != nil {
		return nil, err
	}
	counted := make(map[string]uint64)
	for _, table := range tables {
		rows, err := trace.Count(ctx, d, table)
		var damaged *trace.DamageError
		if err != nil && !errors.As(err, &damaged) {
			return nil, err
		}
		counted[table] = rows
	}
	return counted, nil
}

// dateOf is the UTC date of the first event, "" if there is none.
func dateOf(span trace.Span, known bool) string {
	if !known {
		return ""
	}
	return time.Unix(0, span.First).UTC().Format(time.DateOnly)
}

// checkDamage notes what of the recording is not there, and returns an error unless that may be.
func (p *publishing) checkDamage(query *analyze.Query) error {
	of := make(map[string]string)
	for _, segment := range query.Damaged {
		name, err := filepath.Rel(p.dataset.Dir(), segment.Path)
		if err != nil {
			name = filepath.Base(segment.Path)
		}
		of[name] = segment.Error()
	}
	p.manifest.Damaged = slices.Sorted(maps.Keys(of))
	p.isRead = true
	problems := slices.Sorted(maps.Values(of))
	if session := p.dataset.Session(); session != nil && session.Rows != nil && !p.dataset.Killed() {
		p.missing = trace.Some[int64](0)
		for _, table := range slices.Sorted(maps.Keys(session.Rows)) {
			if stored, there := session.Rows[table], p.manifest.Recorded[table]; stored > there {
				p.missing.Value += int64(stored - there)
				problems = append(problems, fmt.Sprintf("%d of %d %s rows that were recorded are not there", stored-there, stored, table))
			}
		}
	}
	if len(problems) == 0 || p.request.Damaged {
		return nil
	}
	return fmt.Errorf("%w: %s; --damaged publishes what can be read", ErrDamaged, strings.Join(problems, "; "))
}

// row is that of the recording.
func (p *publishing) row(ctx context.Context, f *facts, span trace.Span, known bool) (RecordingRow, error) {
	row := RecordingRow{
		Host: f.host, Format: FormatVersion, Damaged: int64(len(p.manifest.Damaged)), Missing: p.missing, Paths: p.manifest.Paths, Lost: f.lost, Unarmed: f.unarmed,
		Callbacks: f.rowsOf(TableCallbackFact), Messages: f.rowsOf(TableMessageFact), Files: int64(len(f.files)),
		NodeRows: trace.Some(f.rowsOf(TableNodeFact)), Processes: int64(len(f.query.Architecture.Processes)), Nodes: int64(len(f.query.Architecture.Nodes)),
	}
	for i := range f.files {
		row.Rows += f.files[i].Rows
		row.Bytes += f.files[i].Bytes
	}
	if known {
		row.Begin, row.End = trace.Some(span.First), trace.Some(span.Last)
	}
	distributions, middlewares := make(map[string]bool), make(map[string]bool)
	for i := range f.query.Architecture.Processes {
		process := &f.query.Architecture.Processes[i]
		distributions[process.Distro], middlewares[process.RMWImplementation] = true, true
	}
	row.Distribution, row.RMW = listed(distributions), listed(middlewares)
	session := p.dataset.Session()
	if session == nil {
		return row, nil
	}
	row.BootID, row.Kernel, row.Architecture = session.Host.BootID, session.Host.Kernel, session.Host.Machine
	row.RecorderVersion, row.Ending = session.Recorder.Version, session.Ending
	bound := session.Clock.Uncertainty
	err := trace.Scan(ctx, p.dataset, trace.TableClock, func(rows []trace.Clock) error {
		for i := range rows {
			bound = max(bound, rows[i].Uncertainty)
		}
		return nil
	})
	var damaged *trace.DamageError
	if err != nil && !errors.As(err, &damaged) {
		return row, err
	}
	if session.Clock.MonotonicTimestamp != 0 {
		row.ClockOffsetBound = trace.Some(bound)
	}
	return row, nil
}

// listed are the names that are known, with commas between them.
func listed(names map[string]bool) string {
	delete(names, "")
	return strings.Join(slices.Sorted(maps.Keys(names)), ",")
}
