package top

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
)

// Source tells of a recording. Its functions are called from one goroutine at a time.
type Source struct {
	// Next returns what there is now. While it fails, the last frame is shown, with the error.
	Next func(ctx context.Context) (*Frame, error)
	// Messages is what the recording says meanwhile; may be nil.
	Messages <-chan string
}

// interval is the pace at which numbers are shown anew.
const interval = time.Second

// ErrOver is returned by Source.Next when there is nothing more to come.
var ErrOver = errors.New("the recording has ended")

// Run shows a recording until somebody quits, ctx ends, or the recording does. The screen is one that was begun.
func Run(ctx context.Context, screen tcell.Screen, source Source) error {
	d, err := newDisplay(screen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	frames := make(chan next)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follow(ctx, source, frames)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for {
		if err := d.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case n := <-frames:
			if errors.Is(n.err, ErrOver) {
				return nil
			}
			d.take(n)
		case text := <-source.Messages:
			d.message = text
		case event, open := <-screen.EventQ():
			if !open || d.handle(event) {
				return nil
			}
		}
	}
}

// next is a frame, or why there is none.
type next struct {
	frame *Frame
	err   error
}

// follow asks for frames.
func follow(ctx context.Context, source Source, frames chan<- next) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		frame, err := source.Next(ctx)
		select {
		case frames <- next{frame, err}:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *display) take(n next) {
	if n.err != nil {
		d.problem = n.err.Error()
		return
	}
	d.problem = ""
	if !d.paused {
		d.frame = n.frame
	}
}

// handle does what a key says, and reports whether that is to quit.
func (d *display) handle(event tcell.Event) (quit bool) {
	switch event := event.(type) {
	case *tcell.EventResize:
		d.screen.Sync()
	case *tcell.EventKey:
		d.message = ""
		if !event.Pressed() {
			return false
		}
		if event.Key() == tcell.KeyCtrlC {
			return true
		}
		if d.typing {
			d.typed(event)
			return false
		}
		return d.pressed(event)
	}
	return false
}

// typed makes a key a part of the filter.
func (d *display) typed(event *tcell.EventKey) {
	switch event.Key() {
	case tcell.KeyEnter:
		d.typing = false
	case tcell.KeyEscape:
		d.typing, d.filter = false, ""
	case tcell.KeyBackspace, tcell.KeyDelete:
		_, size := utf8.DecodeLastRuneInString(d.filter)
		d.filter = d.filter[:len(d.filter)-size]
	case tcell.KeyRune:
		d.filter += event.Str()
	}
}

func (d *display) pressed(event *tcell.EventKey) (quit bool) {
	_, height := d.screen.Size()
	switch event.Key() {
	case tcell.KeyEscape:
		return true
	case tcell.KeyTab:
		d.show((d.shown + 1) % len(d.views))
	case tcell.KeyUp:
		d.top--
	case tcell.KeyDown:
		d.top++
	case tcell.KeyPgUp:
		d.top -= height - headLines - 2
	case tcell.KeyPgDn:
		d.top += height - headLines - 2
	case tcell.KeyHome:
		d.top = 0
	case tcell.KeyEnd:
		d.top = 1 << 30 // draw bounds it
	case tcell.KeyRune:
		return d.struck(event.Str())
	}
	return false
}

func (d *display) struck(key string) (quit bool) {
	switch key {
	case "q":
		return true
	case "1", "2", "3", "4":
		d.show(int(key[0] - '1'))
	case "<":
		d.view().sortByNext(-1)
	case ">":
		d.view().sortByNext(1)
	case "r":
		d.view().order.Reversed = !d.view().order.Reversed
	case "/":
		d.typing, d.filter = true, ""
	case " ":
		d.paused = !d.paused
	}
	return false
}

func (d *display) show(i int) { d.shown, d.top = i, 0 }
