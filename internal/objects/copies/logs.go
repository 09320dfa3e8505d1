package copies

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/logs"
)

// The catalog has no record of a log, so a node learns of those that it lacks from the other nodes: it compares the
// logs of each hour with theirs. The newest two hours are compared at each interval, because a question to keep a log
// may have been lost. All hours are compared when the node has started, and when the set of living nodes has changed.

const (
	// comparedHours is how many hours are compared at each interval.
	comparedHours = 2

	// maxListed is the maximum number of logs in an answer.
	maxListed = 4096

	// entrySize is the length of an encoded entry in bytes: key, size and time.
	entrySize = nameSize + 16

	// hourSize is the length of an encoded hour in bytes.
	hourSize = 8
)

// lackingLogs yields the logs that this node should have and lacks. When it continues, the log that it has yielded was
// fetched, unless that has failed.
func (c *Copies) lackingLogs(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		nodes := c.others()
		slices.Sort(nodes)
		hours := comparedHours
		if !slices.Equal(nodes, c.compared) {
			hours = int(logs.Retention / time.Hour)
		}
		failed, missed := map[string]bool{}, false // nodes without an answer; a log was not fetched
		for i := range hours {
			hour := c.Clock.Now().Add(-time.Duration(i) * time.Hour)
			for _, node := range nodes {
				if failed[node] {
					continue
				}
				for e, err := range c.logsOf(ctx, node, hour) {
					switch {
					case ctx.Err() != nil:
						return
					case err != nil:
						c.Log.Debug("logs of another node not compared", "err", err)
						failed[node] = true
					case !c.lacksLog(e):
					case !yield(string(e.Key)):
						return
					default:
						missed = missed || c.lacksLog(e)
					}
				}
			}
		}
		if !missed && len(failed) == 0 {
			c.compared = nodes
		}
	}
}

// lacksLog reports whether this node should have a log of another node and lacks it.
func (c *Copies) lacksLog(e logs.Entry) bool {
	return c.Logs.Lacks(e) && c.ProcessLogs.isHolder(string(e.Key))
}

// logsOf yields the logs of an hour that another node has, and an error at the end if it has not answered.
func (c *Copies) logsOf(ctx context.Context, node string, hour time.Time) iter.Seq2[logs.Entry, error] {
	return func(yield func(logs.Entry, error) bool) {
		after := logs.Key("")
		for {
			page, err := c.askLogs(ctx, node, hour, after)
			if err != nil {
				yield(logs.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < maxListed {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

func (c *Copies) askLogs(ctx context.Context, node string, hour time.Time, after logs.Key) ([]logs.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	question := binary.BigEndian.AppendUint64([]byte{listQuestion}, uint64(hour.Unix())) //nolint:gosec // as bits
	content, err := c.ask(ctx, node, appendName(question, string(after)))
	return decodeEntries(content), err
}

// listLogs answers a listQuestion: the time of an hour, and the key after which the page begins, if it is not the
// first.
func (c *Copies) listLogs(data []byte) (content []byte, err error) {
	if c.Logs == nil || len(data) != hourSize && len(data) != hourSize+nameSize {
		return nil, errMalformed
	}
	hour := time.Unix(int64(binary.BigEndian.Uint64(data)), 0) //nolint:gosec // as bits
	after := ""
	for _, name := range decodeNames(data[hourSize:]) {
		after = name
	}
	entries, err := c.Logs.List(hour, logs.Key(after), maxListed)
	for _, e := range entries {
		content = appendName(content, string(e.Key))
		content = binary.BigEndian.AppendUint64(content, uint64(e.Size))              //nolint:gosec // a size
		content = binary.BigEndian.AppendUint64(content, uint64(e.Stored.UnixNano())) //nolint:gosec // as bits
	}
	return content, err
}

// decodeEntries decodes the answer to a listQuestion, and ignores what is left.
func decodeEntries(data []byte) (entries []logs.Entry) {
	for ; len(data) >= entrySize; data = data[entrySize:] {
		entries = append(entries, logs.Entry{
			Key:    logs.Key(decodeNames(data[:nameSize])[0]),
			Size:   int64(binary.BigEndian.Uint64(data[nameSize:])),                 //nolint:gosec // as bits
			Stored: time.Unix(0, int64(binary.BigEndian.Uint64(data[nameSize+8:]))), //nolint:gosec // as bits
		})
	}
	return entries
}
