package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/knownfiles"
	"github.com/caret-bpf/caret-bpf/target"
)

const (
	// storeInterval is how long what is news may be lost by a recorder that is killed.
	storeInterval = time.Minute
	// cachePatience is how long the list is waited for, at the begin of a recording and at its end.
	cachePatience = 5 * time.Second
	// maxJudged bounds the memory of a recording that goes on for months while programs are built anew.
	maxJudged = 1 << 16
)

// coreLibrary tells one installation of ROS 2 from another.
const coreLibrary = "librcl.so"

// knownFiles are the files that earlier recordings have seen, and this one. It is of the session's own goroutine.
type knownFiles struct {
	// cache is the folder in which they are kept; "" means that they are not: they are of no use, or it does not answer.
	cache   string
	caller  *identity.Identity
	journal *journal
	// processes are those whose files are noted, attacher knows which these are. They are set when there are some.
	processes *processes
	attacher  *attaching.Attacher

	list *knownfiles.List
	// noted is when the mappings of a process were read that were noted last, judged whether a file may be noted.
	noted  map[*process]int64
	judged map[target.KnownFile]bool
	// namespace is the recorder's mount namespace.
	namespace uint64
	// news says that something is to be stored, begun when that was begun last, stored is closed when it has ended.
	news   bool
	begun  time.Time
	stored chan struct{}
}

// newKnownFiles keeps files for processes to come: for others they are of no use.
func newKnownFiles(c *compiled, options Options, journal *journal) *knownFiles {
	k := &knownFiles{
		caller: options.Caller, journal: journal,
		list: new(knownfiles.List), noted: map[*process]int64{}, judged: map[target.KnownFile]bool{}, begun: time.Now(),
	}
	if c.systemWide() {
		k.cache = options.Cache
	}
	return k
}

// load reads what earlier recordings have seen.
func (k *knownFiles) load(ctx context.Context) {
	if k.cache == "" {
		return
	}
	var own unix.Stat_t
	if unix.Stat("/proc/self/ns/mnt", &own) == nil {
		k.namespace = own.Ino
	}
	type answer struct {
		list *knownfiles.List
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		list, err := knownfiles.Load(k.cache, k.caller)
		answers <- answer{list, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, fs.ErrNotExist) {
			k.journal.warn(a.err)
		}
		k.list = a.list
	case <-time.After(cachePatience):
		k.journal.warn(fmt.Errorf("%s does not answer within %v: files of earlier recordings are not known", k.cache, cachePatience))
		k.cache = ""
	case <-ctx.Done():
	}
}

// note notes what processes of ROS 2 have mapped that nobody but trusted users could have written, and stores
// it now and then.
func (k *knownFiles) note(ctx context.Context) {
	if k.cache == "" {
		return
	}
	alive := map[*process]int64{}
	for _, entry := range k.processes.all() {
		if !entry.recorded || k.processes.living(entry.row.PID) != entry || entry.target.MountNamespace != k.namespace {
			continue // it is over, or its paths are not those of the next recording
		}
		alive[entry] = entry.refreshed
		if at, noted := k.noted[entry]; !noted || at != entry.refreshed {
			k.noteFilesOf(ctx, entry)
		}
	}
	k.noted = alive
	if time.Since(k.begun) > storeInterval {
		k.store()
	}
}

// noteLast notes what there is to note when the recording ends, in the time that there is.
func (k *knownFiles) noteLast() {
	ctx, cancel := context.WithTimeout(context.Background(), mappingPatience)
	defer cancel()
	k.note(ctx)
}

func (k *knownFiles) noteFilesOf(ctx context.Context, entry *process) {
	core, _ := entry.target.FindModule(coreLibrary)
	installation, ok := core.Known()
	if !ok || !k.mayBeKnown(ctx, entry, core, installation) {
		return
	}
	var files []target.KnownFile
	probed := entry.probed.ProbedFiles()
	for _, module := range entry.target.Modules {
		if file, ok := module.Known(); ok && k.mayBeKnown(ctx, entry, module, file) {
			file.Probed = probed[module.File]
			files = append(files, file)
		}
	}
	if k.list.Add(installation, files) {
		k.news = true
	}
}

// mayBeKnown reports whether a file is probed for every process, or has nothing to be probed, and nobody but trusted
// users could have written it: what others wrote would take the place of what is of use.
func (k *knownFiles) mayBeKnown(ctx context.Context, entry *process, module target.Module, file target.KnownFile) bool {
	if !k.attacher.IsForAll(module.File) {
		return false
	}
	trusted, judged := k.judged[file]
	if !judged {
		if len(k.judged) > maxJudged {
			clear(k.judged)
		}
		trusted = k.attacher.CheckTrusted(ctx, entry.probed, module) == nil
		k.judged[file] = trusted
	}
	return trusted
}

// store begins to store what is news. The folder may be of a file system that does not answer.
func (k *knownFiles) store() {
	if !k.news {
		return
	}
	if k.stored != nil {
		select {
		case <-k.stored:
		default:
			return
		}
	}
	k.news, k.begun, k.stored = false, time.Now(), make(chan struct{})
	go func(list *knownfiles.List, stored chan struct{}) {
		defer close(stored)
		k.journal.warn(list.Store(k.cache, k.caller))
	}(k.list.Clone(), k.stored)
}

// end stores the rest.
func (k *knownFiles) end() {
	patience := time.After(cachePatience)
	for range 2 { // what is being stored may be older
		k.store()
		if k.stored == nil {
			return
		}
		select {
		case <-k.stored:
		case <-patience:
			return
		}
	}
}

// forgetChanged forgets the files that are no longer what earlier recordings have seen.
func (k *knownFiles) forgetChanged(p *prepared) {
	if changed := p.process.Changed(); len(changed) > 0 {
		k.list.Forget(p.seen.Core, changed)
		k.news = true
	}
}
