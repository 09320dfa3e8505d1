package audit

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Query selects records. Empty fields select all.
type Query struct {
	Since time.Time // the first time; Until is the first later one
	Until time.Time

	User     string // name, source identity, principal id or ARN; like Event without regard to case
	Event    string // a name of an event
	Key      string // the id of an access key
	Resource string // an ARN, or a part of one: an id
	Address  string // an address, or a network as 192.0.2.0/24
	Request  string // the id of a request
	Errors   bool   // only failures

	After string // the cursor of the last record that was visited before
	Limit int    // how many records are visited; 0: all
}

// A filter is a checked query.
type filter struct {
	Query
	network netip.Prefix // of Address; the zero one if it is an address
	after   cursor
}

// A cursor is the place of a record: the number of its message, and of its line from 1 on.
type cursor struct {
	seq  uint64
	line int
}

func (c cursor) String() string { return fmt.Sprintf("%d-%d", c.seq, c.line) }

// parse checks a query, which comes from a client.
func (q Query) parse() (f filter, err error) {
	f.Query = q
	if q.After != "" {
		seq, line, _ := strings.Cut(q.After, "-")
		var seqErr, lineErr error
		f.after.seq, seqErr = strconv.ParseUint(seq, 10, 64)
		f.after.line, lineErr = strconv.Atoi(line)
		if seqErr != nil || lineErr != nil || f.after.seq == 0 || f.after.line < 1 {
			return f, fault.New(fault.InvalidRequest,
				"After must be the cursor of a record, such as 1234-1, and is %q.", clip(q.After))
		}
	}
	if q.Address == "" {
		return f, nil
	}
	if f.network, err = netip.ParsePrefix(q.Address); err == nil {
		f.network = f.network.Masked()
		return f, nil
	}
	address, err := netip.ParseAddr(q.Address)
	if err != nil {
		return f, fault.New(fault.InvalidRequest,
			"Address must be an IP address or a network such as 192.0.2.0/24, and is %q.", clip(q.Address))
	}
	address = address.Unmap()
	f.network = netip.PrefixFrom(address, address.BitLen())
	return f, nil
}

// selects reports whether a record is selected.
func (f *filter) selects(r *Record) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	switch id := &r.Identity; {
	case !f.Since.IsZero() && r.Time.Before(f.Since), !f.Until.IsZero() && !r.Time.Before(f.Until):
		return false
	case f.User != "" && !slices.ContainsFunc([]string{id.User, id.SourceIdentity, id.PrincipalID, id.Arn},
		func(s string) bool { return strings.EqualFold(s, f.User) }):
		return false
	case f.Event != "" && !strings.EqualFold(r.Name, f.Event):
		return false
	case f.Resource != "" && !slices.ContainsFunc(r.Resources,
		func(arn string) bool { return strings.Contains(arn, f.Resource) }):
		return false
	case f.Errors && r.ErrorCode == "":
		return false
	}
	return same(f.Key, r.Identity.AccessKey) && same(f.Request, r.RequestID) && f.selectsAddress(r.Address)
}

func (f *filter) selectsAddress(text string) bool {
	if f.Address == "" {
		return true
	}
	address, err := netip.ParseAddr(text)
	return err == nil && f.network.Contains(address.Unmap().WithZone(""))
}
