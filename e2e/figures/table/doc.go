// Table measures the figures of docs/benchmarks.md and prints them as one table: what the service does, what it must
// do, and what a ceiling or a peer does in the same run. Then it has benchstat compare the results with those that are
// committed, and says in words what moved. "make bench" runs it.
//
// It measures nothing itself: every row belongs to a Go benchmark of package e2e/figures, which rows.go names. The
// results are kept in the text format of Go benchmarks. With -accept, "make bench-accept", the latest results become
// the committed ones, and the table in docs/benchmarks.md is written from them.
package main
