package abi

// RecordOf returns a record of a kind, nil if no record has it.
func RecordOf(k Kind) any { return kinds[k].record }
