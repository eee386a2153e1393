package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	// readInterval is how long a record waits at most when too few come to wake the reader.
	readInterval = 100 * time.Millisecond
	// lossInterval is the resolution of the loss table's time spans.
	lossInterval = 250 * time.Millisecond
	// tickInterval is the pace of what need not be prompt: looking at all processes, closing segments, telling the user.
	tickInterval = attaching.NoticeTime
	// clockInterval is the pace of the clock table: meanwhile the kernel's bound of its error grows by 0.5 ms.
	clockInterval = time.Second
)

// Options are what a session needs beside its configuration.
type Options struct {
	// Version of the recorder, for session.json.
	Version string
	// Observer is told what happens.
	Observer Observer
	// Costs are what hits of sites cost on this machine; nil means the built-in defaults.
	Costs *probes.Costs
	// Cache is the folder in which it is kept which files recordings have seen; "" means that it is not.
	Cache string
	// Installed is where the distributions of ROS 2 are installed, each in a folder of its own; "" means /opt/ros.
	Installed string
	// Caller is who makes the dataset, and for whom a command is run; nil is the program with all its rights.
	Caller *identity.Identity
	// Driven says that settings of the recording may be changed while it goes on.
	Driven bool
	// MayGo is asked, with its path, before a former recording is removed (KeepTotalBytes, KeepTotalAge): it stays where
	// that says no. It is called before the recording begins and then, now and again, from a goroutine of its own; nil
	// says yes.
	MayGo func(path string) bool
	// NoSnapshots says that nobody asks for any: a recording in memory makes no directory for them.
	NoSnapshots bool
	// Uploads says what has arrived in the lake of Configuration.Upload, for session.json; nil: nobody knows.
	Uploads func() *trace.Uploads
	// Trusted are users who, like root and the recorder's own, may have written files that are probed for every process.
	Trusted []uint32
}

// Session is one recording. These goroutines use it: its own, which looks at processes, attaches, and ends the
// recording; the reader, which merges records and writes rows; the one that notes mappings; and those of scans, which
// are given what they need.
type Session struct {
	// Set before the reader begins. What they hold has locks of its own.
	configuration *compiled
	options       Options
	journal       *journal
	finder        *target.Finder
	loader        *loader.Loader
	merger        *merge.Merger
	writer        *writer.Writer
	rows          *rows
	triggers      *triggers
	former        *formerRecordings
	processes     *processes
	overhead      *overhead
	clock         datasetClock
	clocks        *clockMeter

	recordedUntil atomic.Int64 // when the recording was closed, on the dataset's clock; 0 before

	// Of the session's own goroutine.
	launched    *launch.Command // nil unless a command was given
	links       trace.Links
	planner     *planner
	attacher    *attaching.Attacher
	scans       *scans
	blind       *blindSpans
	follower    *follower
	known       *knownFiles
	prefixes    *prefixes
	first       firstAwaited
	linkChanges *linkChanges // nil where there is no choice
	losses      losses
	opened      time.Time
	removedTold time.Time // when session.json was last told what was removed
	driver      *Handle
	duration    *time.Timer        // ends the recording
	accounts    []abi.ThreadRecord // memory for those that are taken each second
	// endMappings has all noted that processes have mapped.
	endMappings func()

	// By which the reader tells the session's own goroutine. They have locks of their own, or are channels.
	looks     *looks // processes to look at again
	announced *announced
	headers   *headers

	settings  settings      // as they are now
	snapshots chan struct{} // has one while one is made
	requests  chan request  // to the session's own goroutine
	failed    chan error    // has what a request did that ends the recording

	lostInits lostInits // of the reader; its count may be read by all
	mappings  *mappings
}

// Run records until ctx ends, the configured duration has passed, or all targets have ended. The dataset is complete
// and readable when it returns, also with an error, as far as rows were written; there is none if the recording did not
// begin.
//
// Errors wrap ErrConfiguration, ErrNotBegun and the sentinels of packages launch, target, loader and writer.
func Run(ctx context.Context, configuration Configuration, options Options) error {
	compiled, err := configuration.compile()
	if err != nil {
		return err
	}
	// Before targets are looked for: their PIDs would be those of other processes.
	if err := loader.CheckPIDNamespace(); err != nil {
		return err
	}
	s := &Session{
		configuration: compiled,
		options:       options,
		journal:       newJournal(options.Observer),
		finder:        target.NewFinder(),
		looks:         newLooks(),
		overhead:      newOverhead(),
		requests:      make(chan request),
		failed:        make(chan error, 1),
		snapshots:     make(chan struct{}, 1),
	}
	s.journal.uploads = options.Uploads
	s.settings.now = compiled.settings()
	s.driver = newHandle(s)
	s.finder.Trust(options.Trusted...)
	err = s.run(ctx)
	s.journal.tellGathered()
	return err
}

func (s *Session) run(ctx context.Context) error {
	// What the kernel can do is needed next, and finding out is mostly waiting for it.
	go loader.Probe()
	found, err := s.findTargets(ctx)
	if ctx.Err() != nil {
		return ErrNotBegun
	}
	if err != nil {
		return err
	}
	if s.links = s.chooseLinks(ctx, found); s.links.Recorded > 0 {
		s.journal.message(fmt.Sprintf("probes are made %s", &s.links))
	}
	s.planner = newPlanner(s.configuration, s.options, s.links, s.finder.Quota())
	defer func() { s.launched.Kill() }()
	if command := s.configuration.Command; len(command) > 0 {
		if err := s.startCommand(ctx, command); err != nil {
			return err
		}
	}
	planningContext, endPlanning := context.WithCancel(ctx)
	defer endPlanning()
	plans := s.planner.each(planningContext, found)
	endPlans := func() { // the processes are about to be let go
		endPlanning()
		for _, p := range plans {
			p.await()
		}
	}
	s.known = newKnownFiles(s.configuration, s.options, s.journal)
	s.known.load(ctx)
	s.prefixes = newPrefixes(s.configuration, s.options, s.finder, s.planner, s.known, s.journal)
	toCome := s.planToCome(planningContext)
	if err := s.configure(); err != nil {
		endPlans()
		endPrepared(<-toCome)
		return err
	}
	defer s.processes.close()
	defer s.loader.Close()

	reading := s.read(ctx)
	if err := s.arm(ctx, plans, <-toCome); err != nil {
		endPlans()
		if ctx.Err() != nil {
			return s.abandon(ErrNotBegun, reading)
		}
		return s.abandon(err, reading)
	}
	return s.record(ctx, reading)
}

// configure makes the dataset and loads the kernel side.
func (s *Session) configure() error {
	c := s.configuration
	stored, err := json.Marshal(c.Configuration)
	if err != nil {
		return fmt.Errorf("storing the configuration: %w", err)
	}
	s.clocks = newClockMeter()
	s.clock = datasetClock{s.clocks.measure()}
	host, err := describeHost()
	if err != nil {
		return err
	}
	s.journal.with(func(report *trace.Session) {
		report.Recorder = trace.Recorder{Name: "caret-bpf", Version: s.options.Version, PID: os.Getpid()}
		report.Host = host
		report.Configuration = stored
		report.SetAttributes(c.attributes)
		report.Clock = s.clock.Clock
		report.Enter(trace.StateConfigured, time.Now())
	})

	s.loader, err = loader.New(context.Background(), loader.Options{
		RingBytes:       c.BufferBytes,
		Raw:             c.Raw,
		FilterProcesses: s.links.Shared && !c.All,
		FollowChildren:  len(c.Command) > 0,
		ReportAllExecs:  c.All || c.name != nil,
		FilterAddresses: !c.filter.Empty() || s.options.Driven,
		MessageStamps:   c.Profile != probes.ProfileMinimal,
		NoIntraProcess:  c.Profile == probes.ProfileMinimal,
		Scheduling:      c.Scheduling != SchedulingOff,
		SchedRecords:    c.Scheduling == SchedulingFull,
		OnlyListed:      !c.All,
		ForceTracefs:    c.ForceTracefs,
		Tell:            s.journal.warn,
	})
	if err != nil {
		return err
	}
	made := s.links
	made.Shared = made.Shared || s.loader.SharesLinks()
	s.journal.with(func(report *trace.Session) { report.Links = &made })
	for _, warning := range s.loader.Warnings() {
		s.journal.warn(warning)
	}
	if s.writer, err = s.createDataset(); err != nil {
		return errors.Join(err, s.loader.Close())
	}
	s.triggers = newTriggers(c.triggers, s.act, s.journal)
	s.rows = &rows{s.writer, s.triggers, s.options.Observer.Rows}
	if s.options.Observer.Created != nil && !c.isRing() {
		directory, err := s.writer.Reopen()
		if err != nil {
			return errors.Join(err, s.writer.Discard(), s.loader.Close())
		}
		s.options.Observer.Created(directory)
	}
	s.wire(host.BootID)
	return nil
}

// read begins to read what the kernel side tells. The channel gets the error that ends it.
func (s *Session) read(ctx context.Context) <-chan error {
	reading := make(chan error, 1)
	go func() {
		// The reader outlives ctx: what is in the ring buffer when the user stops belongs to the recording.
		reading <- s.loader.Read(context.WithoutCancel(ctx), s.handle, readInterval)
	}()
	return reading
}

// arm attaches everything that is known, with the gate closed, and looks for the entities that are there, with the gate
// open for what becomes of these only. It fails with ctx's error as soon as that has one.
func (s *Session) arm(ctx context.Context, found []*plannedProcess, toCome []*prepared) error {
	defer endPrepared(toCome)
	if err := s.journal.begin(s.writer); err != nil {
		return err
	}
	if err := s.writer.Write(&trace.Batch{Clocks: []trace.Clock{s.clock.Clock}, Attributes: s.configuration.attributes}); err != nil {
		return err
	}
	var refused []error
	turns := newArmingTurns(found)
	for _, p := range found {
		p.await()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		user := p.Account().User()
		if s.configuration.systemWide() && (!turns.has(user) || errors.Is(p.first.err, errPlannedLate)) {
			s.follower.postponeArming(p.Process, &turns)
			continue
		}
		begin := time.Now()
		err := s.follower.add(ctx, p.Process, p.first)
		turns.spend(user, time.Since(begin))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if !s.configuration.systemWide() && len(refused) == len(found) {
		return joinDistinct(refused...)
	}
	for _, err := range refused {
		s.journal.warn(err)
	}
	s.prefixes.arm(ctx, s.attacher, toCome)
	// Not before: an entity that is created while probes are being attached shows only some of its events.
	if err := s.loader.OpenGateForEntities(); err != nil {
		return err
	}
	s.scans.each(ctx) // so that the first rows of the processes that are there have their names
	s.merger.EmitEntities(false)
	s.headers.answer(ctx)
	s.follower.attachMeanwhile(ctx)
	if s.launched != nil {
		if err := s.addCommand(ctx); err != nil {
			return err
		}
	}
	switch young, launching := s.processes.areBeingLaunched(); {
	case s.launched != nil:
		s.attacher.Await(ctx)
	case !launching:
		s.attacher.SettleBeforeOpening()
	case s.configuration.systemWide():
		s.attacher.AwaitLoading(ctx, young)
	}
	s.awaitFirst(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.journal.enter(trace.StateArmed, s.writer)
}

// record opens the gate and stays until the recording is to end.
func (s *Session) record(ctx context.Context, reading <-chan error) error {
	watch := &mappingWatch{s.processes, s.mappings, s.looks, s.journal, s.configuration.systemWide()}
	s.endMappings = watch.begin()
	defer s.former.begin(s.storedBytes)()
	if s.configuration.DeferredStart {
		s.awaitStart()
	} else if err := s.begin(); err != nil {
		return s.stop(trace.EndingError, err, reading, false)
	}
	ending, err, ended := s.watch(ctx, reading)
	if !s.driver.hasBegun() {
		return s.giveUp(ending, err, reading, ended)
	}
	err = s.stop(ending, err, reading, ended)
	if err == nil && ending == trace.EndingFreeSpace {
		return fmt.Errorf("%w: the recording has ended, and is whole; free space, and record again", ErrFreeSpace)
	}
	return err
}

// storedBytes is how much of the disk the recording takes.
func (s *Session) storedBytes() int64 {
	if s.configuration.isRing() {
		return 0
	}
	return s.writer.WrittenBytes()
}

// begin opens the gate. After an error the recording has begun, or may have.
func (s *Session) begin() error {
	s.driver.begun.Store(true)
	before, after, err := s.loader.OpenGate()
	if err != nil {
		return err
	}
	s.open(before, after)
	s.takeAccounts() // what follows is compared with these
	s.attacher.Open()
	if err := s.journal.enter(trace.StateRecording, s.writer); err != nil {
		return err
	}
	if s.launched != nil {
		if err := s.launched.Release(); err != nil {
			return err
		}
	}
	if s.configuration.All || s.configuration.name != nil {
		s.follower.lookForLoading()
	}
	s.journal.tellGathered()
	s.triggers.begin()
	s.beginRotations()
	if s.options.Observer.Recording != nil {
		s.tellStatus(trace.StateRecording) // which the handle has from its beginning
		s.options.Observer.Recording(s.driver)
	}
	return nil
}

// open notes when the recording began.
func (s *Session) open(before, after int64) {
	s.opened = time.Now()
	s.blind.from = before
	at := before + (after-before)/2 + s.clock.RealtimeOffset
	s.losses.since, s.losses.began = at, at
	s.processes.start(at)
}

func describeHost() (trace.Host, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return trace.Host{}, fmt.Errorf("asking for the kernel's version: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return trace.Host{}, fmt.Errorf("reading the boot id: %w", err)
	}
	return trace.Host{
		Name:    unix.ByteSliceToString(name.Nodename[:]),
		Kernel:  unix.ByteSliceToString(name.Release[:]),
		Machine: unix.ByteSliceToString(name.Machine[:]),
		BootID:  string(boot[:len(boot)-1]),
	}, nil
}
