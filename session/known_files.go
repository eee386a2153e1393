package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

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

// knownFiles are the files that earlier recordings have seen, and this one.
type knownFiles struct {
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

// remembers reports whether files are remembered: those of processes to come are of use.
func (s *Session) remembers() bool { return s.options.Cache != "" && s.configuration.systemWide() }

func (s *Session) loadKnownFiles(ctx context.Context) {
	s.known = knownFiles{list: new(knownfiles.List), noted: map[*process]int64{}, judged: map[target.KnownFile]bool{}, begun: time.Now()}
	if !s.remembers() {
		return
	}
	var own unix.Stat_t
	if unix.Stat("/proc/self/ns/mnt", &own) == nil {
		s.known.namespace = own.Ino
	}
	type answer struct {
		list *knownfiles.List
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		list, err := knownfiles.Load(s.options.Cache, s.options.Caller)
		answers <- answer{list, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, fs.ErrNotExist) {
			s.journal.warn(a.err)
		}
		s.known.list = a.list
	case <-time.After(cachePatience):
		s.journal.warn(fmt.Errorf("%s does not answer within %v: files of earlier recordings are not known", s.options.Cache, cachePatience))
		s.options.Cache = ""
	case <-ctx.Done():
	}
}

// noteKnownFiles notes what processes of ROS 2 have mapped that nobody but trusted users could have written, and stores
// it now and then.
func (s *Session) noteKnownFiles(ctx context.Context) {
	if !s.remembers() {
		return
	}
	alive := map[*process]int64{}
	for _, entry := range s.processes.all() {
		if !entry.recorded || s.processes.living(entry.row.PID) != entry || entry.target.MountNamespace != s.known.namespace {
			continue // it is over, or its paths are not those of the next recording
		}
		alive[entry] = entry.refreshed
		if at, noted := s.known.noted[entry]; !noted || at != entry.refreshed {
			s.noteFilesOf(ctx, entry)
		}
	}
	s.known.noted = alive
	if time.Since(s.known.begun) > storeInterval {
		s.storeKnownFiles()
	}
}

// noteLastKnownFiles notes what there is to note when the recording ends, in the time that there is.
func (s *Session) noteLastKnownFiles() {
	ctx, cancel := context.WithTimeout(context.Background(), mappingPatience)
	defer cancel()
	s.noteKnownFiles(ctx)
}

func (s *Session) noteFilesOf(ctx context.Context, entry *process) {
	core, _ := entry.target.FindModule(coreLibrary)
	installation, ok := core.Known()
	if !ok || !s.mayBeKnown(ctx, entry, core, installation) {
		return
	}
	var files []target.KnownFile
	for _, module := range entry.target.Modules {
		if file, ok := module.Known(); ok && s.mayBeKnown(ctx, entry, module, file) {
			files = append(files, file)
		}
	}
	if s.known.list.Add(installation, files) {
		s.known.news = true
	}
}

// mayBeKnown reports whether a file is probed for every process, or has nothing to be probed, and nobody but trusted
// users could have written it: what others wrote would take the place of what is of use.
func (s *Session) mayBeKnown(ctx context.Context, entry *process, module target.Module, file target.KnownFile) bool {
	if !s.attacher.IsForAll(module.File) {
		return false
	}
	trusted, judged := s.known.judged[file]
	if !judged {
		if len(s.known.judged) > maxJudged {
			clear(s.known.judged)
		}
		trusted = s.attacher.CheckTrusted(ctx, entry.probed, module) == nil
		s.known.judged[file] = trusted
	}
	return trusted
}

// storeKnownFiles begins to store what is news. The folder may be of a file system that does not answer.
func (s *Session) storeKnownFiles() {
	if !s.known.news {
		return
	}
	if s.known.stored != nil {
		select {
		case <-s.known.stored:
		default:
			return
		}
	}
	s.known.news, s.known.begun, s.known.stored = false, time.Now(), make(chan struct{})
	go func(list *knownfiles.List, stored chan struct{}) {
		defer close(stored)
		s.journal.warn(list.Store(s.options.Cache, s.options.Caller))
	}(s.known.list.Clone(), s.known.stored)
}

// endKnownFiles stores the rest.
func (s *Session) endKnownFiles() {
	patience := time.After(cachePatience)
	for range 2 { // what is being stored may be older
		s.storeKnownFiles()
		if s.known.stored == nil {
			return
		}
		select {
		case <-s.known.stored:
		case <-patience:
			return
		}
	}
}

// forgetChanged forgets the files that are no longer what earlier recordings have seen.
func (s *Session) forgetChanged(p *prepared) {
	if changed := p.process.Changed(); len(changed) > 0 {
		s.known.list.Forget(p.seen.Core, changed)
		s.known.news = true
	}
}
