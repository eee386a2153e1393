package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	// uploadPatience is how long a forwarder has for ending.
	uploadPatience = 5 * time.Second
	// firstUploadPause and longestUploadPause bound how long nothing is forwarded after a forwarder has died. One that ran
	// for longer than the latter did not die at once.
	firstUploadPause, longestUploadPause = time.Second, 5 * time.Minute
	// arrivalPatience is how long a recorder that finds no room on the disk waits for a dataset to arrive, which may then
	// be removed; arrivalPause is how often it looks.
	arrivalPatience, arrivalPause = 10 * time.Minute, time.Second
	// maxNews bounds a line of a forwarder, maxComplaint each text of its that is kept, in bytes.
	maxNews, maxComplaint = 1 << 20, 2 << 10
)

// nobodyOfRoots may read what root's group may: recordings of root's, and nothing else of it that matters. It may write
// nothing of root's.
var nobodyOfRoots = &identity.Identity{User: 65534, Group: 0}

// uploads have a forwarder run beside a recording, as the user whose recordings they are, or as nobody where that is
// root. What it says is not believed further than that datasets have arrived.
type uploads struct {
	folder, state string
	to            string             // the lake
	as            *identity.Identity // of the forwarder
	owner         *identity.Identity // of the datasets
	arguments     []string
	deletes       bool
	message       func(string)

	mu    sync.Mutex
	now   trace.Uploads
	heard atomic.Bool // that the forwarder has said what waits

	end   context.CancelFunc
	ended chan struct{}
}

// finishUpload has a recording's upload name a lake, wherever the forwarder runs.
func finishUpload(configuration *session.Configuration) error {
	to := configuration.Upload
	if to == "" {
		return nil
	}
	if err := lake.Check(to); err != nil {
		return err
	}
	if rate := configuration.UploadBandwidth; rate > 0 {
		if err := checkBandwidth("--upload-bandwidth", rate, to); err != nil {
			return err
		}
	}
	if isObjectStorage(to) {
		return nil
	}
	absolute, err := filepath.Abs(to)
	configuration.Upload = absolute
	return err
}

// beginUploads begins to forward what is in the folder that holds the output; nil where nothing is to be forwarded.
func beginUploads(c console, configuration session.Configuration, message func(string)) (*uploads, error) {
	if configuration.Upload == "" {
		return nil, nil
	}
	output, err := filepath.Abs(configuration.Output)
	if err != nil {
		return nil, err
	}
	u := &uploads{
		folder: filepath.Dir(output), to: configuration.Upload, owner: c.caller, deletes: configuration.UploadDeleteAfter != nil, message: message,
		now: trace.Uploads{To: configuration.Upload}, ended: make(chan struct{}),
	}
	u.state = filepath.Join(u.folder, notesFolder)
	u.as = c.caller
	if c.caller.ID() == 0 {
		u.as = nobodyOfRoots
	}
	err = c.caller.Run(func() error {
		if err := os.MkdirAll(u.folder, 0o750); err != nil || u.as == c.caller {
			return err
		}
		return openToGroup(u.state)
	})
	if err != nil {
		return nil, fmt.Errorf("--upload: the folder for what has arrived: %w: %w", writer.ErrUnwritable, err)
	}
	u.arguments = []string{
		forwardArgument, "--to", configuration.Upload, "--state", u.state, "--staging", filepath.Join(u.state, "publish"),
	}
	if rate := configuration.UploadBandwidth; rate > 0 {
		u.arguments = append(u.arguments, "--bandwidth", strconv.FormatInt(rate, 10))
	}
	if after := configuration.UploadDeleteAfter; after != nil {
		u.arguments = append(u.arguments, "--delete-after", after.String())
	}
	u.arguments = append(u.arguments, "--", u.folder)
	ctx, cancel := context.WithCancel(context.Background())
	u.end = cancel
	go func() {
		defer close(u.ended)
		u.run(ctx)
	}()
	message(fmt.Sprintf("finished datasets in %s go to %s", u.folder, configuration.Upload))
	return u, nil
}

// openToGroup makes a folder of root's in which its group may write, unless somebody else has made it.
func openToGroup(path string) error {
	if err := os.Mkdir(path, 0o770); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	var is unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &is); err != nil {
		return err
	}
	if is.Uid != 0 || is.Gid != 0 {
		return fmt.Errorf("%s belongs to another user", path)
	}
	return folder.Chmod(0o770) // whatever the umask is
}

// status is how far the datasets have come; nil where none are forwarded.
func (u *uploads) status() *trace.Uploads {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now
	return &now
}

// hasArrived tells whether a dataset, by its path, has arrived, as far as it is noted. It is asked before one is
// removed for want of room: the lake may not be reachable then.
func (u *uploads) hasArrived(path string) bool {
	name, err := filepath.Rel(u.folder, path)
	return err == nil && forward.HasArrived(u.folder, u.state, filepath.ToSlash(name), u.to, u.owner)
}

// awaitArrival returns when one more dataset has arrived than there had, when none waits that could, after
// arrivalPatience, or when ctx ends. Meanwhile it calls a function now and then.
func (u *uploads) awaitArrival(ctx context.Context, meanwhile func()) {
	ctx, cancel := context.WithTimeout(ctx, arrivalPatience)
	defer cancel()
	pause := time.NewTicker(arrivalPause)
	defer pause.Stop()
	sent := u.status().Sent
	for {
		now, heard := u.status(), u.heard.Load()
		if now.Sent > sent || heard && now.Waiting <= now.Failed {
			return
		}
		meanwhile()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// stop ends the forwarder. What waits then is forwarded by the next one.
func (u *uploads) stop() {
	if u != nil {
		u.end()
		<-u.ended
	}
}

// run has a forwarder run until ctx ends. One that dies is begun anew, after longer and longer pauses.
func (u *uploads) run(ctx context.Context) {
	for pause := firstUploadPause; ctx.Err() == nil; pause = min(2*pause, longestUploadPause) {
		began := time.Now()
		err := u.forward(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestUploadPause {
			pause = firstUploadPause
		}
		u.message(fmt.Sprintf("the forwarder has ended and is begun again in %v: %v", pause, err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// complaints keep the first part of what is written.
type complaints struct{ text []byte }

func (c *complaints) Write(text []byte) (int, error) {
	c.text = append(c.text, text[:min(len(text), maxComplaint-len(c.text))]...)
	return len(text), nil
}

// forward has one forwarder run to its end, and returns why it has ended.
func (u *uploads) forward(ctx context.Context) error {
	said := new(complaints)
	c := exec.Command("/proc/self/exe", u.arguments...)
	c.Stderr, c.WaitDelay = said, time.Second
	c.Env = append(os.Environ(), "NOTIFY_SOCKET=") // it is not the service
	stdin, err := c.StdinPipe()
	if err != nil {
		return err
	}
	news, err := c.StdoutPipe()
	if err != nil {
		return errors.Join(err, stdin.Close())
	}
	if err := launch.Begin(u.as, c); err != nil {
		return errors.Join(err, stdin.Close(), news.Close())
	}
	kill := func() { _ = unix.Kill(-c.Process.Pid, unix.SIGKILL) }
	over := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		_ = stdin.Close() // by which it ends
		select {
		case <-time.After(uploadPatience):
			kill()
		case <-over:
		}
	}()
	err = u.hear(news)
	if err != nil { // what is no news is not of a forwarder
		kill()
	}
	if ended := c.Wait(); err == nil {
		err = ended
	}
	close(over)
	_ = stdin.Close()
	return errors.Join(err, errorOf(said.text))
}

func errorOf(text []byte) error {
	if line := strings.TrimSpace(string(text)); line != "" {
		return errors.New(line)
	}
	return nil
}

// hear takes the news of a forwarder until its end.
func (u *uploads) hear(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 4<<10), maxNews)
	for lines.Scan() {
		var news forwardNews
		if err := json.Unmarshal(lines.Bytes(), &news); err != nil {
			return fmt.Errorf("it says what is no news: %w", err)
		}
		u.take(&news)
	}
	return lines.Err()
}

// take does what news are about.
func (u *uploads) take(news *forwardNews) {
	if news.Message != "" {
		u.message(brief(news.Message))
	}
	if now := news.Status; now != nil {
		u.note(now)
	}
	if news.Delete != "" && u.deletes {
		if err := forward.Delete(u.folder, news.Delete, news.Stamp, u.owner); err != nil {
			u.message(err.Error())
		}
	}
}

// brief is so much of a text of the forwarder's as is kept.
func brief(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxComplaint)], "") }

// note notes a status.
func (u *uploads) note(now *forward.Status) {
	next := trace.Uploads{
		To: u.to, Arrived: now.Arrived, Waiting: now.Waiting, WaitingBytes: now.WaitingBytes, Failed: now.FailedCount, Reason: now.Offline,
		Sent: now.ArrivedNow, SentBytes: now.ArrivedBytes, Deleted: now.Deleted, Gone: now.Gone,
	}
	if next.Reason == "" && len(now.Failed) > 0 {
		next.Reason = now.Failed[0].Reason
	}
	next.Reason = brief(next.Reason)
	if now.OfflineSince != nil {
		next.OfflineSince = now.OfflineSince.UnixNano()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now = next
	u.heard.Store(true)
}
