// Package calls is what tests of a real service share about calls: how a call has ended, and a transport that does not
// spoil them.
package calls
