package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A part is a piece of a page that is read on its own: the page is shown without it if its shard or node does not
// answer. Reading must not change what another part of the page reads or changes.
type part struct {
	name string // as the page calls it
	read func() error
}

// A lack is a part of a page that was not answered, wholly or by some shards.
type lack struct {
	part string
	Text string // "Game sessions: shard 3 did not answer within 2 s"
}

// lacks are those of a visit.
type lacks struct {
	mu  sync.Mutex
	all []lack
}

func (l *lacks) add(part, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := (lack{part, part + ": " + reason}); !slices.Contains(l.all, one) {
		l.all = append(l.all, one)
	}
}

// read reads parts at the same time. The page names those that were not answered; any other error is returned.
func (v *visit) read(parts ...part) error {
	_, err := v.readParts(parts)
	return err
}

// readAny is read for a page that shows nothing else: it fails if none of the parts was answered.
func (v *visit) readAny(parts ...part) error {
	unanswered, err := v.readParts(parts)
	if err == nil && len(unanswered) == len(parts) {
		return unanswered[0]
	}
	return err
}

func (v *visit) readParts(parts []part) (unanswered []error, err error) {
	failed := make([]error, len(parts))
	var reads sync.WaitGroup
	for i, p := range parts[1:] {
		reads.Go(func() { failed[i+1] = p.read() })
	}
	failed[0] = parts[0].read()
	reads.Wait()
	for i, e := range failed {
		if reason := v.unanswered(e); reason != "" {
			v.lacks.add(parts[i].name, reason)
			unanswered = append(unanswered, e)
		} else if err == nil {
			err = e
		}
	}
	return unanswered, err
}

// unanswered returns why there was no answer, if that is why something failed: other errors are answers.
func (v *visit) unanswered(err error) string {
	shard, one := control.UnansweredShard(err)
	switch {
	case err == nil:
		return ""
	case one:
		return fmt.Sprintf("shard %d did not answer within %s", shard, withinText(v.limit))
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + withinText(v.limit)
	case fault.Is(err, fault.ServiceUnavailable):
		return strings.TrimSuffix(fault.Of(err).Message, ".")
	}
	return ""
}

func withinText(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// partial notes which shards a list does not have.
func (v *visit) partial(part string, of control.Partial) {
	for _, shard := range of.MissingShards {
		v.lacks.add(part, fmt.Sprintf("shard %d did not answer, so what it has is missing", shard))
	}
}

// Lacks reports whether a part was not answered, so that the page does not show it as empty.
func (p page) Lacks(part string) bool {
	return slices.ContainsFunc(p.Missing, func(l lack) bool { return l.part == part })
}
