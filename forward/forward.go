package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Lake is where datasets are put: a *lake.Lake.
type Lake interface {
	Publish(context.Context, *trace.Dataset, lake.Request) (lake.Result, error)
	Close() error
}

// Options say what is forwarded, and how.
type Options struct {
	// Folder has the datasets, State the notes of what has arrived.
	Folder, State string
	// To names the lake, Open opens it, Request says how datasets are published.
	To      string
	Open    func(context.Context) (Lake, error)
	Request lake.Request
	// As is who makes notes and deletes datasets; nil is the program.
	As *identity.Identity
	// Interval is how often new datasets are looked for.
	Interval time.Duration
	// DeleteAfter is when a dataset is deleted after it has arrived; nil keeps all. Delete deletes it, or returns ErrLeft;
	// nil is Delete of this package.
	DeleteAfter *time.Duration
	Delete      func(name, stamp string) error
	// Tell is told each new status, Message what the user should know. They may be nil.
	Tell    func(Status)
	Message func(string)
}

// ErrLeft is returned by Options.Delete for a dataset that somebody else is to delete, who was told.
var ErrLeft = errors.New("somebody else deletes it")

// leftPause is how long somebody else has before he is told once more.
const leftPause = time.Minute

// Forwarder forwards the datasets of a folder.
type Forwarder struct {
	options Options
	asked   string
	finder  *finder
	notes   *notes
	lake    Lake // nil while it is not open

	items  map[string]*item // by name
	status Status
	// offline counts the failures of the lake in a row; nothing is asked of it before due.
	offline int
	due     time.Time
}

// item is a dataset with what became of it.
type item struct {
	dataset
	arrived  bool
	at       time.Time // when it arrived
	left     bool      // somebody else is to delete it
	failures int
	err      error
	due      time.Time
}

// New begins. Errors wrap ErrBusy and wholefile.ErrUnwritable. Close it.
func New(options Options) (*Forwarder, error) {
	if options.Tell == nil {
		options.Tell = func(Status) {}
	}
	if options.Message == nil {
		options.Message = func(string) {}
	}
	if options.Delete == nil {
		options.Delete = func(name, stamp string) error { return Delete(options.Folder, name, stamp, options.As) }
	}
	asked, err := json.Marshal(struct {
		Keys  []string `json:"keys"`
		Paths string   `json:"paths"`
	}{options.Request.Keys, options.Request.PathsAsked})
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	n, err := openNotes(options.State, options.As)
	if err != nil {
		return nil, err
	}
	return &Forwarder{
		options: options, asked: string(asked), finder: newFinder(options.Folder, options.As), notes: n, items: make(map[string]*item),
		status: Status{To: options.To},
	}, nil
}

// Close lets go of the notes and the lake.
func (f *Forwarder) Close() error {
	err := f.notes.close()
	if f.lake != nil {
		err = errors.Join(err, f.lake.Close())
	}
	return err
}

// Once attempts each dataset that has not arrived, once. The error joins what kept datasets from arriving; one of the
// lake itself ends it.
func (f *Forwarder) Once(ctx context.Context) error {
	if err := f.look(); err != nil {
		return err
	}
	var failed []error
	attempted := make(map[*item]bool)
	for i := f.next(attempted); i != nil; i = f.next(attempted) {
		attempted[i] = true
		if err := f.attempt(ctx, i); err != nil {
			failed = append(failed, err)
			if ctx.Err() != nil || isOfLake(err) {
				return errors.Join(failed...)
			}
		}
	}
	return errors.Join(append(failed, f.deleteArrived(ctx))...)
}

// Run forwards until ctx ends, and returns its error.
func (f *Forwarder) Run(ctx context.Context) error {
	problem := ""
	for ctx.Err() == nil {
		err := f.look()
		if text := textOf(err); text != problem { // a folder that is not mounted for a while is no reason to end
			if problem = text; problem != "" {
				f.options.Message(problem)
			}
		}
		if err != nil {
			wait(ctx, f.options.Interval)
			continue
		}
		now := time.Now()
		if f.offline > 0 && now.Before(f.due) {
			wait(ctx, min(f.due.Sub(now), f.options.Interval))
			continue
		}
		if i := f.next(nil); i != nil {
			_ = f.attempt(ctx, i) // which is in the status
			continue
		}
		_ = f.deleteArrived(ctx) // which is in the status
		wait(ctx, f.options.Interval)
	}
	return ctx.Err()
}

func wait(ctx context.Context, long time.Duration) {
	select {
	case <-time.After(long):
	case <-ctx.Done():
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// look finds out which datasets there are now.
func (f *Forwarder) look() error {
	found, err := f.finder.find()
	if err != nil {
		return err
	}
	now := make(map[string]*item, len(found))
	for _, d := range found {
		i := f.items[d.name]
		if i == nil || i.stamp != d.stamp || i.recording != d.recording {
			i = &item{}
		}
		i.dataset = d
		if n, noted := f.notes.of[d.name]; noted && !i.arrived && !d.recording && n.Stamp == d.stamp && n.To == f.options.To && n.Asked == f.asked {
			i.arrived, i.at = true, n.Arrived
		}
		if d.err != nil {
			i.err = d.err
		}
		now[d.name] = i
	}
	for name, i := range f.items {
		if now[name] == nil {
			f.forget(name, i)
		}
	}
	for name := range maps.Keys(f.notes.of) {
		if now[name] == nil {
			f.warn(f.notes.remove(name))
		}
	}
	f.items = now
	f.tell()
	return nil
}

// forget tells of a dataset that is not there any more.
func (f *Forwarder) forget(name string, i *item) {
	switch {
	case i.left:
		f.deleted(name)
	case !i.arrived && !i.recording:
		f.status.Gone++
		f.options.Message(name + " was removed before it had arrived")
	}
}

func (f *Forwarder) deleted(name string) {
	f.status.Deleted++
	f.options.Message(name + " was deleted: it had arrived")
}

func (f *Forwarder) warn(err error) {
	if err != nil {
		f.options.Message(err.Error())
	}
}

// next is the dataset to be published next: of those that wait, may be attempted now and were not, the oldest.
func (f *Forwarder) next(attempted map[*item]bool) *item {
	var waiting []*item
	now := time.Now()
	for _, i := range f.items {
		if !i.arrived && !i.recording && !now.Before(i.due) && !attempted[i] {
			waiting = append(waiting, i)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return slices.MinFunc(waiting, func(a, b *item) int { return cmp.Or(cmp.Compare(a.ended, b.ended), cmp.Compare(a.name, b.name)) })
}

// isOfLake tells whether an error is that of the lake, and would be that of all datasets.
func isOfLake(err error) bool {
	return errors.Is(err, lake.ErrUnreachable) || errors.Is(err, lake.ErrUnwritable) || errors.Is(err, lake.ErrNotLake)
}

// attempt publishes a dataset.
func (f *Forwarder) attempt(ctx context.Context, i *item) error {
	f.status.Current = i.name
	f.tell()
	result, err := f.publish(ctx, i)
	f.status.Current = ""
	defer f.tell()
	for _, warning := range result.Warnings {
		f.options.Message(i.name + ": " + warning)
	}
	if err != nil {
		return f.failed(ctx, i, err)
	}
	f.arrived(i, result)
	return nil
}

// publish has the lake get a dataset, or say that it has it.
func (f *Forwarder) publish(ctx context.Context, i *item) (result lake.Result, err error) {
	if i.dataset.err != nil {
		return result, fmt.Errorf("%s: %w", i.name, i.dataset.err)
	}
	if f.lake == nil {
		if f.lake, err = f.options.Open(ctx); err != nil {
			f.lake = nil
			if ctx.Err() == nil && !isOfLake(err) {
				err = fmt.Errorf("%w: %w", lake.ErrUnreachable, err)
			}
			return result, err
		}
	}
	d, err := trace.OpenAs(filepath.Join(f.options.Folder, filepath.FromSlash(i.name)), f.options.As.Run)
	if err != nil {
		return result, err
	}
	return f.lake.Publish(ctx, d, f.options.Request)
}

// arrived notes that a dataset has arrived. Without the note it is asked for once more when this process has ended.
func (f *Forwarder) arrived(i *item, result lake.Result) {
	f.online()
	now := time.Now()
	i.arrived, i.at, i.failures, i.err = true, now, 0, nil
	f.warn(f.notes.add(note{
		Dataset: i.name, Stamp: i.stamp, To: f.options.To, Asked: f.asked, Recording: result.Recording, Arrived: now.UTC(), Rows: result.Rows, Bytes: result.Bytes,
	}))
	how := "has arrived"
	if result.Already {
		how = "was there already"
	} else {
		f.status.ArrivedNow++
		f.status.ArrivedBytes += result.Bytes
	}
	f.options.Message(fmt.Sprintf("%s %s: %d rows, %.1f MB", i.name, how, result.Rows, float64(result.Bytes)/1e6))
}

// failed notes a failure: of the lake, which is closed then, or of a dataset.
func (f *Forwarder) failed(ctx context.Context, i *item, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isOfLake(err):
		f.offline++
		f.due = time.Now().Add(lakeBackoff.after(f.offline, rand.Float64()))
		if f.status.OfflineSince == nil {
			now := time.Now()
			f.status.OfflineSince = &now
		}
		if text := err.Error(); f.status.Offline != text {
			f.status.Offline = text
			f.options.Message(text)
		}
		if f.lake != nil {
			_ = f.lake.Close()
			f.lake = nil
		}
		return err
	}
	f.online() // it has answered, or was not asked
	i.failures++
	i.due = time.Now().Add(datasetBackoff.after(i.failures, rand.Float64()))
	if textOf(i.err) != err.Error() || i.failures == 1 {
		f.options.Message(err.Error())
	}
	i.err = err
	return err
}

func (f *Forwarder) online() {
	if f.lake == nil {
		return
	}
	f.offline, f.status.OfflineSince, f.status.Offline = 0, nil, ""
}

// deleteArrived deletes what has arrived so long ago, one dataset at a time. The lake is asked once more before: a note
// deletes nothing.
func (f *Forwarder) deleteArrived(ctx context.Context) error {
	if f.options.DeleteAfter == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.items)) {
		i := f.items[name]
		now := time.Now()
		if !i.arrived || now.Before(i.at.Add(*f.options.DeleteAfter)) || now.Before(i.due) {
			continue
		}
		result, err := f.publish(ctx, i)
		if err == nil && !result.Already { // somebody has taken it out of the lake
			f.arrived(i, result)
			continue
		}
		if err == nil {
			f.online()
			switch err = f.options.Delete(i.name, i.stamp); {
			case err == nil:
				f.deleted(name)
				delete(f.items, name)
				f.warn(f.notes.remove(name))
				f.tell()
				continue
			case errors.Is(err, ErrLeft):
				i.left, i.due = true, now.Add(leftPause)
				continue
			}
		}
		if err = f.failed(ctx, i, err); ctx.Err() != nil || isOfLake(err) {
			return err
		}
	}
	f.tell()
	return nil
}

// tell tells the status.
func (f *Forwarder) tell() {
	s := f.status
	s.Waiting, s.WaitingBytes, s.Arrived, s.Recording, s.Failed, s.FailedCount = 0, 0, 0, 0, []Failure{}, 0
	for _, name := range slices.Sorted(maps.Keys(f.items)) {
		i := f.items[name]
		switch {
		case i.recording:
			s.Recording++
			continue
		case i.arrived:
			s.Arrived++
		default:
			s.Waiting++
			s.WaitingBytes += i.bytes
		}
		if i.err != nil {
			s.FailedCount++
			if len(s.Failed) < maxFailed {
				s.Failed = append(s.Failed, Failure{i.name, i.err.Error(), i.failures, i.due.UTC()})
			}
		}
	}
	f.options.Tell(s)
}
