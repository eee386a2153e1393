package main

import (
	"context"
	"errors"
	"os"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// record records until what it returns is called, which removes the dataset.
func record(ctx context.Context, configuration session.Configuration) (end, error) {
	ctx, cancel := context.WithCancel(ctx)
	opened, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- session.Run(ctx, configuration, session.Options{Observer: session.Observer{Recording: func() { close(opened) }}})
	}()
	select {
	case <-opened:
	case err := <-ended:
		cancel()
		return nil, err
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
