// Command comparecaret compares caret_analyze's answers with those of caret-bpf for the same events, row by row.
// scripts/compare-caret.sh makes both.
//
// usage: comparecaret [-write PAGE] DIRECTORY…
//
// Each DIRECTORY is of one system. It has one folder for each way in which the contexts of nodes are known, and in it
// caret/ and ours/ with one CSV file a question. With -write the table is put into the generated block of PAGE.
package main
