package significance

import "gonum.org/v1/gonum/stat/distuv"

const (
	// leastBlocks is the number of blocks below which their variance tells too little.
	leastBlocks = 48
	// fewestBlocks is the number of blocks of the coarsest level at which correlation is looked for.
	fewestBlocks = 4
	// uncorrelated is the share of series without correlation in which blocking finds none at the finest level.
	uncorrelated = 0.95
)

// blocking is what blocks of a series tell of the error of its sum.
type blocking struct {
	// variance is that of the sum; freedom is the degrees of freedom of its estimate.
	variance, freedom float64
	// enough is false where blocks are correlated as long as there are enough of them: variance is too small then.
	enough bool
}

// sumVariance estimates the variance of the sum of a series whose values may be correlated. Neighbours are added to
// blocks of 2, 4, 8… values until the blocks are not correlated (Flyvbjerg, Petersen: Error estimates on averages of
// correlated data, J. Chem. Phys. 91, 1989). The test for that, of all longer blocks at once, is of Jonsson: Standard
// error estimation by an automated blocking method, Phys. Rev. E 98, 2018.
//
// The greatest variance of that and of all longer blocks counts: a load that changes slowly shows only in these, and an
// error that is said to be too great calls nothing changed by mistake.
func sumVariance(values []float64) blocking {
	type level struct{ blocks, variance, covariance, correlation float64 }
	var levels []level
	for block := values; len(block) >= fewestBlocks; block = pairs(block) {
		n := float64(len(block))
		variance, covariance := moments(block)
		l := level{blocks: n, variance: variance, covariance: covariance}
		if variance > 0 {
			// The mean is estimated too, so the covariance of independent blocks is −σ²/n.
			l.correlation = n * square(((n-1)*variance/(n*n)+covariance)/variance)
		}
		levels = append(levels, l)
	}
	chosen, sum := len(levels), 0.0
	for i := len(levels) - 1; i >= 0; i-- {
		sum += levels[i].correlation
		if sum < (distuv.ChiSquared{K: float64(len(levels) - i)}).Quantile(uncorrelated) {
			chosen = i
		}
	}
	b := blocking{enough: chosen < len(levels) && levels[chosen].blocks >= leastBlocks}
	for i, l := range levels {
		if b.enough && i < chosen || i > 0 && l.blocks < leastBlocks {
			continue
		}
		inOne := (l.variance + 2*max(l.covariance, 0)) * l.blocks / (l.blocks - 1)
		if variance := inOne * float64(len(values)) / float64(int(1)<<i); variance >= b.variance {
			b.variance, b.freedom = variance, l.blocks-1
		}
	}
	return b
}

// moments are the variance and the covariance of neighbours.
func moments(values []float64) (variance, covariance float64) {
	n, mean := float64(len(values)), 0.0
	for _, v := range values {
		mean += v / n
	}
	for i, v := range values {
		variance += (v - mean) * (v - mean) / n
		if i > 0 {
			covariance += (v - mean) * (values[i-1] - mean) / n
		}
	}
	return variance, covariance
}

// pairs adds neighbours. The last one of an odd number is left out.
func pairs(values []float64) []float64 {
	added := make([]float64, len(values)/2)
	for i := range added {
		added[i] = values[2*i] + values[2*i+1]
	}
	return added
}
