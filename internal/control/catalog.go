package control

import (
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// named returns the records of the given names, without those that do not exist.
func named[R any](names []string, find func(nameOrArn string) (R, error)) (found []R, err error) {
	if len(names) > maxIDs {
		return nil, invalid("Names has %d elements; the maximum is %d", len(names), maxIDs)
	}
	for _, name := range names {
		if r, err := find(name); err == nil {
			found = append(found, r)
		}
	}
	return found, nil
}

// page returns the page of a list after a NextToken, and the next token. list returns what is after a key, and whether
// there is more.
func page[R any](t credentials.Pages, token string, list func(after string) ([]R, bool),
	key func(R) string) (found []R, next string, err error) {
	var after string
	if err := t.Read(token, &after); err != nil {
		return nil, "", err
	}
	found, more := list(after)
	if more {
		next = t.Token(key(found[len(found)-1]))
	}
	return found, next, nil
}

// shown converts records to shapes of the API. The list is never nil, because clients expect the empty list.
func shown[R, W any](records []R, show func(R) *W) []W {
	list := make([]W, len(records))
	for i, r := range records {
		list[i] = *show(r)
	}
	return list
}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

func notFound(format string, args ...any) error { return fault.New(fault.NotFound, format, args...) }

// A catalogReader reads the catalog, and counts what the rooms hold: lookups and pages of what requests name. It
// changes nothing.
type catalogReader struct {
	*router.Router
	shapes
	secrets *credentials.Secrets

	// firstUse creates a fleet that a request names. nil: a fleet must exist.
	firstUse func(id string) (*catalog.Fleet, error)
}

// liveFleet returns the fleet with an id or ARN, unless it is TERMINATED.
func (cr *catalogReader) liveFleet(idOrArn string) (*catalog.Fleet, error) {
	id := fleetID(idOrArn)
	if cr.firstUse != nil && !cr.Elsewhere(idOrArn) {
		if _, known := cr.Catalog().Fleet(id); !known {
			return cr.firstUse(id)
		}
	}
	return cr.Catalog().LiveFleet(id)
}

// fleetID returns the id that is in an id or an ARN; the pattern was checked before.
func fleetID(idOrArn string) string {
	if id, ok := arn.ParseFleet(idOrArn); ok {
		return id
	}
	return idOrArn
}

func aliasID(idOrArn string) string {
	if id, ok := arn.ParseAlias(idOrArn); ok {
		return id
	}
	return idOrArn
}

// target returns the fleet that a request names by exactly one of fleet and alias.
func (cr *catalogReader) target(fleet, alias string) (*catalog.Fleet, error) {
	switch {
	case (fleet == "") == (alias == ""):
		return nil, invalid("Give exactly one of FleetId and AliasId")
	case fleet != "":
		return cr.liveFleet(fleet)
	}
	id, err := cr.Catalog().ResolveAlias(aliasID(alias))
	if err != nil {
		return nil, err
	}
	return cr.Catalog().LiveFleet(id)
}
