package control

import (
	"context"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/logs"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/objects/copies"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// newCopies returns the copies of objects and logs on the nodes of a cluster; nil without one.
func newCopies(p *Plane) *copies.Copies {
	if p.cfg.Cluster == nil || p.cfg.Objects == nil {
		return nil
	}
	all := copies.New(copies.Config{
		Self: p.cfg.Cluster.Self(), Store: p.cfg.Objects, Logs: p.cfg.Logs, Peers: topic{p.cfg.Cluster, aboutFiles},
		Number: p.cfg.Copies, Referred: func() []string { return p.Catalog().ReferredHashes() },
		Clock: p.cfg.Clock, Log: p.cfg.Log,
	})
	p.cfg.Objects.Fetch = func(hash string) error { return all.Fetch(context.Background(), hash) }
	if p.cfg.Logs != nil {
		p.cfg.Logs.Fetch = func(key logs.Key) error { return all.ProcessLogs.Fetch(context.Background(), string(key)) }
	}
	return all
}

// runCopies fetches the bytes that this node has to keep, until ctx ends.
func (p *Plane) runCopies(ctx context.Context) error {
	if p.copies == nil {
		return nil
	}
	return p.copies.Run(ctx)
}

// spreadObject returns when bytes are as durable as a record of the journal.
func (p *Plane) spreadObject(ctx context.Context, hash string) error {
	if p.copies == nil {
		return nil
	}
	return p.copies.Spread(ctx, hash)
}

// tooFewCopies returns the error that clients see if spreadObject fails.
func tooFewCopies(cause error) error {
	f := fault.New(fault.ServiceUnavailable, "Too few nodes of the region have a copy of the bytes. Try again.")
	f.Err = cause
	return f
}

// renewObject keeps bytes from being swept before another reference to them is stored. The error is fs.ErrNotExist if
// there are none.
func (p *Plane) renewObject(ctx context.Context, hash string) error {
	if err := p.cfg.Objects.Renew(hash); err != nil {
		return err
	}
	if err := p.spreadObject(ctx, hash); err != nil {
		return tooFewCopies(err)
	}
	return nil
}

// Uploads returns the multipart uploads of the region.
func (p *Plane) Uploads() objects.Uploads {
	if p.copies == nil {
		return p.cfg.Objects
	}
	return p.copies
}

// observeObjects wakes what works with the bytes of builds and objects.
func (p *Plane) observeObjects(c *router.Commit) {
	if c.Shard != region.CatalogShard {
		return
	}
	for _, f := range c.Facts {
		switch e := f.Body.(type) {
		case *catalog.ObjectPut:
			p.bytesStored(e.Bucket == "")
		case *catalog.BuildCreated:
			p.bytesStored(e.Hash != "")
		case *catalog.BuildFinished:
			p.builds.ended(e.ID)
		}
	}
}

// bytesStored wakes the copies, and the check if the bytes are of a build.
func (p *Plane) bytesStored(build bool) {
	if p.copies != nil {
		p.copies.Repair()
	}
	if build {
		p.builds.check()
	}
}
