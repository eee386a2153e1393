package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/top"
	"github.com/caret-bpf/caret-bpf/trace"
)

// topFlags are those of top.
type topFlags struct {
	configuration session.Configuration
	control       string
	span          time.Duration
	paths         []string
}

func topCommand() command {
	return command{
		name: "top", arguments: "(-p PIDS | --name REGEXP | --all | --control PATH) [flags]",
		summary: "show live what callbacks, topics, nodes and paths do: rates, times, losses, load",
		examples: []string{
			"sudo caret-bpf top --all",
			`sudo caret-bpf top -p "$(pgrep -f component_container)" --path "from=^/points to=^/control"`,
			"caret-bpf top --control auto --span 30s",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := new(topFlags)
			flags.StringVarP(&f.configuration.PIDs, "pid", "p", "", "watch the processes with these `PIDS`, separated by commas or white space")
			flags.StringVar(&f.configuration.Name, "name", "", "watch processes whose command or command line matches the `REGEXP`, later ones too")
			flags.BoolVar(&f.configuration.All, "all", false, "watch every ROS 2 process, later ones too")
			flags.StringVar(&f.control, "control", "", "watch a recording that goes on, at the `PATH` of its --control; auto: the only one that `ctl list` shows")
			flags.DurationVar(&f.span, "span", defaultLiveSpan, fmt.Sprintf("show what there was in this `TIME`, from %v to %v", minLiveSpan, maxLiveSpan))
			flags.StringArrayVar(&f.paths, "path", nil, "also show a path: a `DEFINITION` such as \"from=^/points to=^/control\", "+
				"from the publish of a topic to the callback of another one (repeatable)")
			return f.run
		},
	}
}

func (f *topFlags) run(ctx context.Context, c console, arguments []string) error {
	if err := noArguments(arguments); err != nil {
		return err
	}
	if _, err := new(liveWindows).window(f.request(), 0); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if c.out.terminal() == nil || !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("%w: top needs a terminal; programs ask a recording with --control at %s, or scrape --metrics", errUsage, control.LivePath)
	}
	if f.control == "" {
		return f.record(ctx, c)
	}
	if f.configuration.PIDs != "" || f.configuration.Name != "" || f.configuration.All {
		return fmt.Errorf("%w: --control names a recording, which has its processes", errUsage)
	}
	socket := f.control
	if socket == automatic {
		socket = ""
	}
	client, err := (&ctlFlags{socket: socket}).client(ctx, c)
	if err != nil {
		return err
	}
	return f.show(ctx, c, client, nil)
}

func (f *topFlags) request() control.LiveRequest {
	return control.LiveRequest{SpanNs: f.span.Nanoseconds(), Paths: f.paths}
}

// watched is a recording that is shown.
type watched interface {
	Status(ctx context.Context) (control.Status, error)
	Live(ctx context.Context, asked control.LiveRequest) (live.Snapshot, error)
}

// own is a recording of this process as others see it.
type own struct{ *controlled }

func (o own) Status(context.Context) (control.Status, error) { return o.controlled.Status(), nil }

// record records in memory, and keeps nothing but what is shown.
func (f *topFlags) record(ctx context.Context, c console) error {
	configuration := f.configuration
	configuration.RingAge = minRingAge
	configuration.Output = "top" // which is not made
	if err := configuration.Check(); err != nil {
		return err
	}
	if c.isProgram {
		if err := giveUpPrivileges(c, recordFlags{}, configuration, os.Args); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	recording := &controlled{console: c, output: configuration.Output, cancel: cancel}
	progress := newProgress(c.err, false)
	defer progress.end()
	messages := make(chan string, maxUnprinted)
	said := new(heard)
	begun := make(chan struct{})
	options := session.Options{Version: version, Caller: c.caller, NoSnapshots: true, Trusted: []uint32{uint32(c.caller.ID())}}
	options.Costs, _ = knownCosts(c)
	options.Cache, _ = cacheFolder(c.getenv, c.caller)
	options.Observer = session.Observer{
		Rows: []func(*trace.Batch){recording.windows.look},
		Message: func(text string) {
			select {
			case <-begun:
				said.add(text)
				select {
				case messages <- text:
				default: // it is shown at the end
				}
			default:
				progress.message(text)
			}
		},
		Recording: func(h *session.Handle) {
			recording.arm(h)
			close(begun)
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Run(ctx, configuration, options) }()
	select {
	case err := <-ended:
		return err
	case <-begun:
	}
	shown, stopShowing := context.WithCancel(ctx)
	defer stopShowing()
	over := make(chan error, 1)
	go func() {
		over <- <-ended
		stopShowing()
	}()
	err := f.show(shown, c, own{recording}, messages)
	recording.Stop()
	err = errors.Join(err, <-over)
	for _, text := range said.all() {
		progress.message(text)
	}
	return err
}

// heard is what a recording has said while the screen was in use.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.texts) < maxUnprinted {
		h.texts = append(h.texts, text)
	}
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.texts
}

// show shows a recording until somebody quits.
func (f *topFlags) show(ctx context.Context, c console, of watched, messages <-chan string) (err error) {
	before, err := saveTerminal(os.Stdin)
	if err != nil {
		return fmt.Errorf("%w: top needs a terminal: %w", errUsage, err)
	}
	tty, err := tcell.NewStdIoTty()
	if err != nil {
		return fmt.Errorf("%w: top needs a terminal: %w", errUsage, err)
	}
	screen, err := tcell.NewTerminfoScreenFromTty(tty)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("top cannot use this terminal: %w", err)
	}
	giveBack := func() {
		within(screenPatience, screen.Fini)
		_ = before.restore() // the program ends, whatever becomes of it
	}
	c.giveBack.Store(&giveBack)
	defer c.giveBack.Store(nil)
	defer func() {
		screen.Fini()
		err = errors.Join(err, before.restore()) // the screen has those who read from the terminal not wait for it
	}()
	return top.Run(ctx, screen, top.Source{Next: f.frames(of), Messages: messages})
}

// screenPatience is how long a terminal may take to leave the screen when the program ends at once: one whose output is
// stopped takes nothing any more.
const screenPatience = 200 * time.Millisecond

// within does something, and waits for it no longer than a time.
func within(patience time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

// frames returns what tells of a recording, again and again.
func (f *topFlags) frames(of watched) func(context.Context) (*top.Frame, error) {
	return func(ctx context.Context) (*top.Frame, error) {
		ctx, cancel := context.WithTimeout(ctx, askPatience)
		defer cancel()
		status, err := of.Status(ctx)
		if errors.Is(err, control.ErrNobody) {
			return nil, fmt.Errorf("%w: %w", top.ErrOver, err)
		}
		if err != nil {
			return nil, err
		}
		snapshot, err := of.Live(ctx, f.request())
		if err != nil {
			return nil, err
		}
		return &top.Frame{Status: topLine(status, &snapshot), Snapshot: snapshot}, nil
	}
}

// topLine says how a recording is as a whole, with the rates of what is shown.
func topLine(s control.Status, shown *live.Snapshot) string {
	var callbacks, publishes float64
	for i := range shown.Nodes {
		callbacks += shown.Nodes[i].Callbacks
		publishes += shown.Nodes[i].Published
	}
	return fmt.Sprintf("%s  %d processes  callbacks %s/s  publishes %s/s  lost %s  buffer %d%%  overhead %.1f%%",
		elapsed(s), s.Processes, report.Count(uint64(callbacks+0.5)), report.Count(uint64(publishes+0.5)), report.Count(s.Lost),
		100*s.Ring.Pending/max(1, s.Ring.Bytes), 100*s.Overhead)
}
