// Package figures holds benchmarks of the whole service.
//
// Each figure stands beside a ceiling or peer that is measured in the same run, on the same payload and by the same
// client, so that a ratio means something on a busy machine too. Every benchmark puts its numbers into the units of
// testing.B.ReportMetric, where benchstat finds them.
//
// A benchmark prepares what all its rounds need before the first, and then measures as many rounds as -count says.
// Service and peer take turns in each.
//
// A plain "go test" runs the code of every benchmark once with tiny sizes. How to measure, and what came out, stands in
// docs/benchmarks.md; program table, in the directory below, makes the table there.
package figures
