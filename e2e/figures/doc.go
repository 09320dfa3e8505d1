// Package figures holds benchmarks of the whole service whose load does not come
// over many sockets from many clients: for that there is "muster bench".
//
// Each figure stands beside a ceiling or peer that is measured in the same run,
// on the same payload and by the same client, so that a ratio means something on
// a busy machine too. Every benchmark puts its numbers into the units of
// testing.B.ReportMetric, where benchstat finds them.
//
// A plain "go test" runs the code of every benchmark once with tiny sizes. How to
// measure, and what came out, stands in docs/benchmarks.md.
package figures
