package forward

import "time"

// backoff says how long nothing is attempted after failures in a row.
type backoff struct{ first, most time.Duration }

var (
	// lakeBackoff is for a lake that cannot be reached: when a vehicle is online again, it may not be for long.
	lakeBackoff = backoff{first: time.Second, most: 5 * time.Minute}
	// datasetBackoff is for a dataset that cannot be published: it is read each time.
	datasetBackoff = backoff{first: time.Minute, most: 6 * time.Hour}
)

// after is the pause after so many failures. It doubles with each. A random part of it, by a number from 0 to 1, is
// left out, so that the vehicles of a fleet do not come back at once.
func (b backoff) after(failures int, random float64) time.Duration {
	pause := b.first
	for ; failures > 1 && pause < b.most; failures-- {
		pause *= 2
	}
	pause = min(pause, b.most)
	return pause - time.Duration(random*float64(pause)/2)
}
