//go:build unix

package hasher

// niceness leaves a tenth of a processor that others want, so that people can still sign in at a busy node.
const niceness = 10
