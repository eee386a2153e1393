package layouts

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// accessors.csv names functions of rcl and rclcpp that give a member of their object, and the members on the way to it.
// A number after a member is what the accessor's offset differs by: rcl gives the address of a rmw_qos_profile_t, whose
// depth follows 8 bytes later.
//
//go:embed accessors.csv
var accessorsCSV string

// Learned are offsets that were learned from the code of accessor functions, by structure and member.
type Learned map[string]uint64

// Difference is a member that lies elsewhere than the layout of its distribution says.
type Difference struct {
	// Member is the structure and its member.
	Member string
	// Learned and Known are the offsets in the library and in the layout, in bytes.
	Learned, Known uint64
}

func (d Difference) String() string {
	return fmt.Sprintf("%s at %d, not %d", d.Member, d.Learned, d.Known)
}

// AccessorLibraries returns the names of the libraries that Learn reads.
func AccessorLibraries() []string {
	var names []string
	for _, a := range accessors() {
		if !slices.Contains(names, a.library) {
			names = append(names, a.library)
		}
	}
	return names
}

// Learn reads the code of a library's accessor functions, those that it has and whose code can be followed. name is the
// library's, as in AccessorLibraries. It is nothing on machines whose code package elffile does not follow.
func Learn(name string, library *elffile.File) Learned {
	learned := make(Learned)
	for _, a := range accessors() {
		if a.library == name {
			a.learn(library, learned)
		}
	}
	return learned
}

// accessor is one row of accessors.csv.
type accessor struct {
	library, function, gives string
	members                  []accessedMember
}

type accessedMember struct {
	name   string
	differ int64
}

func accessors() []accessor {
	records, err := csv.NewReader(strings.NewReader(accessorsCSV)).ReadAll()
	if err != nil {
		return nil
	}
	var list []accessor
	for _, record := range records[1:] {
		a := accessor{library: record[0], function: record[1], gives: record[2]}
		for _, text := range strings.Fields(record[3]) {
			member := accessedMember{name: text}
			if at := strings.LastIndexByte(text, '-'); at >= 0 {
				if differ, err := strconv.ParseInt(text[at:], 10, 32); err == nil {
					member = accessedMember{text[:at], differ}
				}
			}
			a.members = append(a.members, member)
		}
		list = append(list, a)
	}
	return list
}

func (a accessor) learn(library *elffile.File, learned Learned) {
	symbol, err := library.Lookup(a.function)
	if err != nil {
		return
	}
	follow := library.ReturnedMember
	if a.gives == "copied" {
		follow = library.CopiedMember
	}
	found, err := follow(symbol)
	if err != nil || len(found.Offsets) != len(a.members) {
		return
	}
	for i, member := range a.members {
		if offset := found.Offsets[i] - member.differ; offset >= 0 {
			learned[member.name] = uint64(offset)
		}
	}
}

// differences lists where learned offsets contradict known ones, by name.
func (r *offsetReader) differences() []Difference {
	var list []Difference
	for member, offset := range r.learned {
		known, err := strconv.ParseUint(r.cells[column{r.column, member}], 10, 32)
		if err == nil && known != offset {
			list = append(list, Difference{member, offset, known})
		}
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Compare(a.Member, b.Member) })
	return list
}
