package analyze

import (
	"math"
	"testing"
)

// The values are those of R's wilcox.test(a, b, exact = FALSE, correct = TRUE), worked by hand from its definition.
func TestMannWhitney(t *testing.T) {
	one, two := []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}
	// U = 0 of 25, variance 5·5·11/12: z = (12.5 − 0.5)/4.787.
	if got, want := mannWhitney(one, two), math.Erfc(12/math.Sqrt(275.0/12)/math.Sqrt2); math.Abs(got-want) > 1e-12 {
		t.Errorf("p %v, want %v", got, want)
	}
	if got := mannWhitney(one, one); got != 1 {
		t.Errorf("p %v of equal samples, want 1", got)
	}
	if got := mannWhitney([]float64{3, 3, 3}, []float64{3, 3, 3}); got != 1 {
		t.Errorf("p %v of samples without any difference, want 1", got)
	}
	if a, b := mannWhitney(one, two), mannWhitney(two, one); a != b {
		t.Errorf("p depends on the order: %v, %v", a, b)
	}
}
