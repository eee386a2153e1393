package main

import "testing"

func TestMemorySize(t *testing.T) {
	const refused = -1
	for text, want := range map[string]int{
		"1": 1, "4096": 4096, "64K": 64 << 10, "64KiB": 64 << 10, "16M": 16 << 20, "16MiB": 16 << 20, "1g": 1 << 30, "1GiB": 1 << 30, "0064m": 64 << 20,
		"0": refused, "0M": refused, "-1": refused, "-1M": refused, "+1M": refused, "2G": refused, "1025M": refused,
		"18446744073709551616": refused, "17179869185G": refused, "18014398509481985K": refused,
		"": refused, "M": refused, "64MB": refused, "64B": refused, "64iB": refused, "64Mi": refused, "64KM": refused, "1T": refused,
		"1.5M": refused, "64 M": refused, "0x10": refused, "64M ": refused, "1_000": refused, "٣": refused,
	} {
		var size memorySize
		err := size.Set(text)
		switch {
		case want == refused && err == nil:
			t.Errorf("%q is taken for %d", text, size)
		case want != refused && (err != nil || int(size) != want):
			t.Errorf("%q gives %d, %v, want %d", text, size, err, want)
		}
	}
}

func TestDiskSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "2G": 2 << 30, "3T": 3 << 40, "1024TiB": 1 << 50, "1025T": 0, "0": 0, "1P": 0, "2GB": 0} {
		var size diskSize
		if err := size.Set(text); (err == nil) != (want > 0) || int64(size) != want {
			t.Errorf("%q gives %d, %v, want %d", text, size, err, want)
		}
	}
}
