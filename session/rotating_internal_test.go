package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestRotateEvery rotates after each period until the recording ends. One that fails is told, and keeps the next one
// from nothing; one that takes long is not overtaken.
func TestRotateEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		var warned []error
		full := errors.New("the disk is full")
		ended, end := context.WithCancel(t.Context())
		rotate := func(context.Context) error {
			at = append(at, time.Since(began))
			switch len(at) {
			case 2:
				return full
			case 3:
				time.Sleep(25 * time.Minute)
			case 5:
				end()
				return ErrOver
			}
			return nil
		}
		rotateEvery(ended, 10*time.Minute, rotate, func(err error) { warned = append(warned, err) })
		if want := []time.Duration{10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 55 * time.Minute, 60 * time.Minute}; !slices.Equal(at, want) {
			t.Errorf("rotated at %v, want %v", at, want)
		}
		if len(warned) != 1 || !errors.Is(warned[0], full) {
			t.Errorf("warned of %v", warned)
		}
	})
}

// TestUploadConfiguration: what would delete what has not arrived is refused.
func TestUploadConfiguration(t *testing.T) {
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		change func(c *Configuration)
		fits   bool
	}{
		"an upload":                       {func(c *Configuration) { c.Upload = "s3://fleet" }, true},
		"with rotations":                  {func(c *Configuration) { c.Upload, c.RotateEvery = "s3://fleet", time.Minute }, true},
		"deleted in the end":              {func(c *Configuration) { c.Upload, c.UploadDeleteAfter = "s3://fleet", &day }, true},
		"of snapshots":                    {func(c *Configuration) { c.Upload, c.RingAge = "s3://fleet", time.Minute }, true},
		"kept for a time":                 {func(c *Configuration) { c.Upload, c.KeepAge = "s3://fleet", day }, false},
		"kept to a size":                  {func(c *Configuration) { c.Upload, c.KeepBytes = "s3://fleet", 1<<30 }, false},
		"kept to segments":                {func(c *Configuration) { c.Upload, c.KeepSegments = "s3://fleet", 7 }, false},
		"a bandwidth of nothing":          {func(c *Configuration) { c.UploadBandwidth = 1 << 20 }, false},
		"a deletion of nothing":           {func(c *Configuration) { c.UploadDeleteAfter = &day }, false},
		"rotations":                       {func(c *Configuration) { c.RotateEvery = time.Second }, true},
		"rotations without a pause":       {func(c *Configuration) { c.RotateEvery = time.Millisecond }, false},
		"rotations of a negative time":    {func(c *Configuration) { c.RotateEvery = -time.Minute }, false},
		"rotations of what is in memory":  {func(c *Configuration) { c.RotateEvery, c.RingAge = time.Minute, time.Minute }, false},
		"rotations of what is kept a day": {func(c *Configuration) { c.RotateEvery, c.KeepAge = time.Minute, day }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Configuration{All: true, Output: "rec"}
			test.change(&c)
			if err := c.Check(); test.fits != (err == nil) || err != nil && !errors.Is(err, ErrConfiguration) {
				t.Error(err)
			}
		})
	}
}
