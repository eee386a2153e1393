package merge_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
)

// Only of a callback whose two ends were seen it is known what happened in between.
func TestOverheadOfCallbacks(t *testing.T) {
	for name, test := range map[string]struct {
		start, end uint64
		known      bool
	}{
		"complete": {100, 200, true}, "start missing": {0, 200, false}, "no end": {100, 0, false},
	} {
		rows := feed(t, merge.Options{}, encode(abi.CallbackRecord{
			Header: header(abi.KindCallback, abi.CallbackComplete, 0), Callback: 1, StartNs: test.start, EndNs: test.end, OverheadNs: 40,
		}))
		if got := rows.Callbacks[0].Overhead; got.Valid != test.known || got.Valid && got.Value != 40 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAccountsOfThreads(t *testing.T) {
	var told []abi.ThreadRecord
	options := merge.Options{OnThread: func(account abi.ThreadRecord) { told = append(told, account) }}
	ended := abi.ThreadRecord{Header: header(abi.KindThread, 0, 0), TimeNs: 5, CostNs: 700}
	ended.Units[1] = abi.HitCount{Hits: 7, CostNs: 700}
	feed(t, options, encode(ended))
	m := merge.New(options)
	if err := m.CloseThread(encode(abi.ThreadState{PID: 3, TID: 4, Account: abi.ThreadRecord{CostNs: 900}})); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0] != ended || told[1].Header.PID != 3 || told[1].Header.TID != 4 || told[1].CostNs != 900 {
		t.Errorf("%+v", told)
	}
}
