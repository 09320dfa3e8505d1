package audit

import (
	"fmt"
	"net/netip"
	"time"
)

const (
	// foldTime is how long repeated refusals are counted before the count is recorded.
	foldTime = time.Minute

	// maxFolds is the maximum number of kinds of refusals that are counted separately at a time.
	maxFolds = 1024
)

// A foldKey is what refusals have in common that are counted together.
type foldKey struct {
	net         netip.Prefix // an IPv4 address, or the first 64 bits of an IPv6 address: a host has all of those
	address     string       // one that is neither
	name, error string
	arn         string // of the caller, if it is known
}

func keyOf(r *Record) foldKey {
	k := foldKey{name: r.Name, error: r.ErrorCode, arn: r.Identity.Arn}
	a, err := netip.ParseAddr(r.Address)
	if err != nil {
		k.address = r.Address
		return k
	}
	a = a.Unmap().WithZone("")
	k.net, _ = a.Prefix(min(a.BitLen(), 64)) // the number of bits is valid
	return k
}

// A fold counts refusals of one kind.
type fold struct {
	key    foldKey
	ends   time.Time
	newest Record // of those that are counted
	count  int    // without the first, which is recorded by itself
}

func (f *fold) add(r *Record) {
	f.newest = *r
	f.count++
}

// record returns the record of what was counted, if anything was.
func (f *fold) record() (r Record, ok bool) {
	r = f.newest
	if f.count > 1 {
		r.Count = f.count
	}
	return r, f.count > 0
}

// folds count refusals that repeat, so that guessing cannot displace other records. The first of a kind is recorded at
// once, the others of the next minute as one record at its end. If there are too many kinds, the rest share a count.
type folds struct {
	open   map[foldKey]*fold
	order  []*fold // by their ends; without common
	common fold
}

// add counts a refusal, or reports that it is to be recorded.
func (f *folds) add(now time.Time, r *Record) (recorded bool) {
	key := keyOf(r)
	if known := f.open[key]; known != nil {
		known.add(r)
		return false
	}
	if len(f.open) < maxFolds {
		if f.open == nil {
			f.open = map[foldKey]*fold{}
		}
		begun := &fold{key: key, ends: now.Add(foldTime)}
		f.open[key] = begun
		f.order = append(f.order, begun)
		return true
	}
	if f.common.count == 0 {
		f.common.ends = now.Add(foldTime)
	}
	f.common.add(r)
	return false
}

// end calls record for all that ends until now.
func (f *folds) end(now time.Time, record func(Record)) {
	for len(f.order) > 0 && !now.Before(f.order[0].ends) {
		ended := f.order[0]
		f.order[0], f.order = nil, f.order[1:]
		delete(f.open, ended.key)
		if r, ok := ended.record(); ok {
			record(r)
		}
	}
	if f.common.count > 0 && !now.Before(f.common.ends) {
		r, _ := f.common.record()
		f.common = fold{}
		if r.Count > 0 {
			r = many(&r)
		}
		record(r)
	}
}

// many is the record of refusals that have nothing in common. newest is one of them.
func many(newest *Record) Record {
	return Record{
		Time: newest.Time, Name: "RepeatedRefusals", Source: "muster", Type: "MusterCall", Region: newest.Region,
		Account: newest.Account, Identity: Identity{Type: "Unknown"}, ErrorCode: "Various",
		ErrorMessage: fmt.Sprintf("%d calls were refused, of more kinds than are counted separately", newest.Count),
		Count:        newest.Count,
	}
}

// deadline returns when the next count ends; zero if none is open.
func (f *folds) deadline() (next time.Time) {
	if len(f.order) > 0 {
		next = f.order[0].ends
	}
	if f.common.count > 0 && (next.IsZero() || f.common.ends.Before(next)) {
		next = f.common.ends
	}
	return next
}
