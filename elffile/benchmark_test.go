package elffile

import (
	"errors"
	"os"
	"testing"
)

func benchmarkFile(b *testing.B) string {
	for _, path := range []string{"/opt/ros/humble/lib/libfastrtps.so.2.6.10", "/usr/lib/x86_64-linux-gnu/libfastrtps.so.2.9.1", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	b.Skip("no large library is installed")
	return ""
}

// A name that a file does not have, asked once: what planning does with most mapped libraries.
func BenchmarkOpenAndLookupAbsent(b *testing.B) {
	path := benchmarkFile(b)
	b.ReportAllocs()
	for b.Loop() {
		file, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := file.Lookup("ros_trace_callback_start"); !errors.Is(err, ErrSymbolNotFound) {
			b.Fatal(err)
		}
		file.Close()
	}
}

func BenchmarkOpenAndLookupPrefix(b *testing.B) {
	path := benchmarkFile(b)
	b.ReportAllocs()
	for b.Loop() {
		file, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := file.LookupPrefix("_ZN8eprosima8fastrtps4rtps13WriterHistory"); err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

func BenchmarkOpenAndMatch(b *testing.B) {
	path := benchmarkFile(b)
	b.ReportAllocs()
	for b.Loop() {
		file, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := file.Match(func(string) bool { return false }); err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}
