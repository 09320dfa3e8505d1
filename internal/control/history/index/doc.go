// Package index stores keys of the history on the node's disk, so that a question about what has ended needs one
// look-up.
//
// A store follows a log: Apply stores the keys of one message of the log, with the message's number. The store is not
// the truth. It is not synced: after a crash it is as it was after an earlier message, and the caller applies the
// messages after [Store.Applied] again. If it is damaged, [Store.Err] or a call returns an error; the caller closes it,
// deletes it with [Remove], and applies the log from its beginning.
//
// # Epochs
//
// Keys are stored in epochs: the messages of one period of time, a sixteenth of the retention. [Store.Expire]
// deletes an epoch as a range when the log has none of its messages any more, which costs the same for any number of
// keys. A reader sees the keys of all epochs as one ordered set; if a key is in several, the newest counts.
//
// # Filters
//
// Most questions about exact keys are about something that never existed: whether an id was used before. For the
// keys of each epoch below [FirstUnfiltered], memory has a Bloom filter of about 10 bits for each key, in which the
// answer to such a question costs some ten nanoseconds. The filters of an opened store are read from its keys in the
// background; until then the disk is asked.
//
// The files are those of Pebble, an LSM tree.
package index
