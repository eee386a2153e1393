package lake

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrPartition is returned for what a recording cannot be put under.
var ErrPartition = errors.New("it cannot be a partition of the lake")

const (
	// KeyDate is the partition key that is no attribute: the UTC date of the first event.
	KeyDate = "date"
	// keyVehicle is the attribute that is a partition key unless others are asked for.
	keyVehicle = "vehicle"
	// defaultPartition is Hive's name for null.
	defaultPartition = "__HIVE_DEFAULT_PARTITION__"
	parquetSuffix    = ".parquet"
	// maxName is as much as a name in a file system has, in bytes.
	maxName = 255
)

// DefaultKeys are the partition keys unless others are asked for.
var DefaultKeys = []string{KeyDate, keyVehicle}

// Key is a partition key of a recording with its value. An absent value is "".
type Key struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// folder is the key as a part of a path: NAME=VALUE, escaped as Hive does.
func (k Key) folder() (string, error) {
	value := strings.ToValidUTF8(k.Value, string(utf8.RuneError))
	folder := escape(k.Name) + "="
	switch value {
	case "":
		folder += defaultPartition
	case defaultPartition:
		folder += "%5F" + value[1:] // it is a text like any other
	default:
		folder += escape(value)
	}
	if len(folder) > maxName {
		return "", fmt.Errorf("%w: %s has %d bytes, and a folder's name has %d at most: choose other partition keys", ErrPartition, k.Name, len(k.Value), maxName)
	}
	return folder, nil
}

// escape has %XX in place of what is no letter, digit, '_', '.' or '-'. Beyond ASCII nothing is escaped: engines take
// each %XX for a character, not for a byte of one.
func escape(text string) string {
	var escaped strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf, c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_', c == '.', c == '-':
			escaped.WriteByte(c)
		default:
			fmt.Fprintf(&escaped, "%%%02X", c)
		}
	}
	return escaped.String()
}

// partition is where a recording lies in each table, and what its rows begin with.
type partition struct {
	recording string // its ID
	keys      []Key
	path      string // the folders of the keys
}

func newPartition(recording string, keys []Key) (*partition, error) {
	p := &partition{recording: recording, keys: keys}
	folders := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if folders[i], err = key.folder(); err != nil {
			return nil, err
		}
	}
	p.path = strings.Join(folders, "/")
	return p, nil
}

// FileName is the name that a file of a publication has in the folder of its partition, in all tables. A publication is
// the ID of a recording with, in a lake, what tells publications of it apart. Numbers count from 0.
func FileName(publication string, number int) string {
	return fmt.Sprintf("%s-%05d%s", publication, number, parquetSuffix)
}

// file is the name of a table's file in the lake.
func (p *partition) file(table string, number int) string {
	name := FileName(p.recording, number)
	if p.path == "" {
		return table + "/" + name
	}
	return table + "/" + p.path + "/" + name
}
