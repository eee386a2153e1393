package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// settlingPatience is how long a recording may take to begin and to settle.
const settlingPatience = time.Minute

// record records until what it returns is called, which removes the dataset. With settles it returns when the recorder
// has said something that contains that text.
func record(ctx context.Context, configuration session.Configuration, settles string) (end, error) {
	ctx, cancel := context.WithCancel(ctx)
	settled, ended := make(chan struct{}), make(chan error, 1)
	settle := sync.OnceFunc(func() { close(settled) })
	observer := session.Observer{Recording: func(*session.Handle) { settle() }}
	if settles != "" {
		observer = session.Observer{Message: func(text string) {
			if strings.Contains(text, settles) {
				settle()
			}
		}}
	}
	go func() { ended <- session.Run(ctx, configuration, session.Options{Observer: observer}) }()
	select {
	case <-settled:
	case err := <-ended:
		cancel()
		return nil, err
	case <-time.After(settlingPatience):
		cancel()
		return nil, errors.Join(errors.New("the recording does not settle"), <-ended, os.RemoveAll(configuration.Output))
	}
	return func() (lost uint64, err error) {
		cancel()
		if err := <-ended; err != nil {
			return 0, err
		}
		lost, err = lostRecords(configuration.Output)
		return lost, errors.Join(err, os.RemoveAll(configuration.Output))
	}, nil
}

func lostRecords(directory string) (lost uint64, err error) {
	dataset, err := trace.Open(directory)
	if err != nil {
		return 0, err
	}
	for _, loss := range dataset.Session().Losses {
		lost += loss.Count
	}
	return lost, nil
}
