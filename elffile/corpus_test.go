package elffile

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Without corpusVariable set to "all", as many libraries and functions are looked at as take a few seconds.
const (
	corpusVariable   = "CARET_BPF_CORPUS"
	corpusLibraries  = 12
	corpusFunctions  = 3000
	corpusMaxText    = 8 << 20
	corpusFoldersAll = "/usr/lib/*-linux-gnu/*.so*,/usr/lib/*.so*,/opt/ros/*/lib/*.so*,/opt/ros/*/lib/*-linux-gnu/*.so*,../build/testdata/*/*.so*,../build/testdata/*/ros_node"
)

// corpus are the shared libraries of the machine, each real file once, spread over all of them when not all are wanted.
func corpus(t *testing.T) []string {
	t.Helper()
	var files []string
	seen := map[string]bool{}
	for _, pattern := range strings.Split(corpusFoldersAll, ",") {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range matches {
			path, err := filepath.EvalSymlinks(match)
			if err == nil && !seen[path] && isLibrary(path) {
				seen[path] = true
				files = append(files, path)
			}
		}
	}
	if os.Getenv(corpusVariable) == "all" || len(files) <= corpusLibraries {
		return files
	}
	var some []string
	for i := range corpusLibraries {
		some = append(some, files[i*len(files)/corpusLibraries])
	}
	return some
}

func isLibrary(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	text := file.Section(".text")
	limit := uint64(corpusMaxText)
	if os.Getenv(corpusVariable) == "all" {
		limit *= 4 // more takes objdump minutes
	}
	return file.Machine == elf.EM_X86_64 && text != nil && text.Size < limit
}

// listing is objdump's view of a library: the text of each instruction, and the order of their addresses.
type listing struct {
	text    map[uint64]string
	starts  []uint64
	targets []uint64 // of jumps
	from    map[uint64][]uint64
}

func listed(t *testing.T, path string) *listing {
	t.Helper()
	l := &listing{text: disassemble(t, path), from: map[uint64][]uint64{}}
	for address, text := range l.text {
		l.starts = append(l.starts, address)
		if match := objdumpTarget.FindStringSubmatch(text); match != nil && match[1] != "call" {
			target, _ := strconv.ParseUint(match[2], 16, 64)
			l.from[target] = append(l.from[target], address)
		}
	}
	for target := range l.from {
		l.targets = append(l.targets, target)
	}
	slices.Sort(l.starts)
	slices.Sort(l.targets)
	return l
}

// Every site that is chosen anywhere in the corpus begins an instruction by objdump's word, is of a kind that the
// kernel emulates or the very first one, and has behind it nothing that writes an argument register or that a jump of
// the function leads into.
func TestCorpusFunctionSites(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("objdump is asked for x86-64 code")
	}
	var all, emulated, later int
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file := openFile(t, path)
			symbols, err := file.Symbols()
			if err != nil {
				t.Skip(err)
			}
			l := listed(t, path)
			for i, symbol := range symbols {
				if i == corpusFunctions && os.Getenv(corpusVariable) != "all" {
					break
				}
				site, err := file.FunctionSite(symbol, SiteRequest{})
				if err != nil {
					continue
				}
				all++
				if site.Address != symbol.Address {
					later++
				}
				if site.Class == ClassEmulated {
					emulated++
				}
				if err := l.check(file, symbol, site); err != nil {
					t.Errorf("%s: site %#x: %v", symbol.Name, site.Address, err)
				}
			}
		})
	}
	t.Logf("%d functions, %d with an emulated site, %d not at the entry", all, emulated, later)
	if all > 1000 && emulated < all/4 {
		t.Errorf("only %d of %d functions have an emulated site", emulated, all)
	}
}

var (
	emulatedText     = regexp.MustCompile(`^(push +%r|call +[0-9a-f]+ |jmp +[0-9a-f]+ |j[a-z]+ +[0-9a-f]+ |nop$)`)
	argumentWritten  = regexp.MustCompile(`^%(rdi|edi|di|dil|rsi|esi|si|sil|[re]?dx|dl|dh|[re]?cx|cl|ch|r8[dwb]?|r9[dwb]?)$`)
	writesNoOperand  = regexp.MustCompile(`^(push|test|cmp|nop|data16|cs nop|endbr64|ucomis)`)
	stackSubtraction = regexp.MustCompile(`^sub +\$0x([0-9a-f]+),%rsp$`)
)

func (l *listing) check(file *File, symbol Symbol, site Site) error {
	text, starts := l.text[site.Address]
	if !starts {
		return fmt.Errorf("objdump knows no instruction there")
	}
	if site.Class == ClassEmulated && !emulatedText.MatchString(text+" ") && !emulatedText.MatchString(text) {
		return fmt.Errorf("%q is not emulated", text)
	}
	if site.Class != ClassEmulated && site.Address != symbol.Address {
		return fmt.Errorf("%q is neither emulated nor the first", text)
	}
	stack := 0
	first, _ := slices.BinarySearch(l.starts, symbol.Address)
	for _, address := range l.starts[first:] {
		if address == site.Address {
			break
		}
		text := strings.TrimSpace(strings.Split(l.text[address], " #")[0])
		operands := strings.Split(text, ",")
		last := strings.TrimSpace(operands[len(operands)-1])
		if fields := strings.Fields(last); len(fields) > 1 && len(operands) == 1 {
			last = fields[1]
		}
		if !writesNoOperand.MatchString(text) && argumentWritten.MatchString(last) {
			return fmt.Errorf("%q writes an argument before it", text)
		}
		if strings.HasPrefix(text, "j") || strings.HasPrefix(text, "call") || strings.HasPrefix(text, "ret") {
			return fmt.Errorf("%q comes before it", text)
		}
		if strings.HasPrefix(text, "push") {
			stack += 8
		} else if match := stackSubtraction.FindStringSubmatch(text); match != nil {
			size, _ := strconv.ParseInt(match[1], 16, 64)
			stack += int(size)
		} else if last == "%rsp" {
			return fmt.Errorf("%q moves the stack", text)
		}
	}
	if stack != site.StackOffset {
		return fmt.Errorf("stack offset %d, not %d", site.StackOffset, stack)
	}
	bounds, err := file.FunctionBounds(symbol)
	if err != nil {
		return nil
	}
	from, _ := slices.BinarySearch(l.targets, symbol.Address+1)
	for _, target := range l.targets[from:] {
		if target > site.Address {
			break
		}
		for _, jump := range l.from[target] {
			if bounds.Contains(jump) {
				return fmt.Errorf("the jump at %#x leads to %#x", jump, target)
			}
		}
	}
	return nil
}
