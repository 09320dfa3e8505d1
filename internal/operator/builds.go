package operator

import (
	"context"
	"io"
	"strconv"

	"github.com/muster-gg/muster/internal/control"
)

// A BuildRegion answers the requests about builds.
type BuildRegion interface {
	BuildViews(status string, limit int, token string) (*control.BuildList, error)
	BuildView(id string) (*control.BuildView, error)
	PushBuild(ctx context.Context, in *control.BuildPush) (*control.BuildPushed, error)
	StoreChunks(ctx context.Context, body io.Reader) (*control.ChunksStored, error)
	FleetBuild(ctx context.Context, fleet string) (*control.FleetBuild, error)
	SetFleetBuild(ctx context.Context, fleet string, in control.FleetBuildInput) (*control.FleetBuild, error)
	BuildVersions(ctx context.Context, fleet string) (*control.BuildVersions, error)
	PutBuildVersion(ctx context.Context, fleet, version string, in control.BuildVersionInput) (*control.BuildVersion,
		error)
	DeleteBuildVersion(ctx context.Context, fleet, version string) error
	AliasWeights(alias string) (*control.AliasWeights, error)
	SetAliasWeights(ctx context.Context, alias string, weights []control.AliasWeight) (*control.AliasWeights, error)
}

const (
	maxManifest = 64 << 20 // bytes of the list of files of a build
	maxChunks   = 64 << 20 // bytes of the chunks of one body
)

func (d *Handler) builds(c *call) (*control.BuildList, error) {
	q, err := rowQuery(c)
	if err != nil {
		return nil, err
	}
	return d.Region.BuildViews(q.Status, q.Limit, q.NextToken)
}

func (d *Handler) build(c *call) (*control.BuildView, error) {
	return d.Region.BuildView(c.PathValue("id"))
}

func (d *Handler) fleetBuild(c *call) (*control.FleetBuild, error) {
	return d.Region.FleetBuild(c.Context(), c.PathValue("fleet"))
}

func (d *Handler) setFleetBuild(c *call, in *control.FleetBuildInput) (*control.FleetBuild, error) {
	set, err := d.Region.SetFleetBuild(c.Context(), c.PathValue("fleet"), *in)
	if err == nil {
		c.note("build", set.BuildID)
	}
	return set, err
}

func (d *Handler) buildVersions(c *call) (*control.BuildVersions, error) {
	return d.Region.BuildVersions(c.Context(), c.PathValue("fleet"))
}

func (d *Handler) putBuildVersion(c *call, in *control.BuildVersionInput) (*control.BuildVersion, error) {
	c.event = "FleetBuildVersionPut"
	put, err := d.Region.PutBuildVersion(c.Context(), c.PathValue("fleet"), c.PathValue("version"), *in)
	if err == nil {
		c.note("version", put.Version)
		c.note("build", put.BuildID)
	}
	return put, err
}

func (d *Handler) deleteBuildVersion(c *call) (Deleted, error) {
	c.event = "FleetBuildVersionDelete"
	version := c.PathValue("version")
	c.note("version", version)
	return deletedUnless(d.Region.DeleteBuildVersion(c.Context(), c.PathValue("fleet"), version), version)
}

func (d *Handler) aliasWeights(c *call) (*control.AliasWeights, error) {
	return d.Region.AliasWeights(c.PathValue("alias"))
}

func (d *Handler) setAliasWeights(c *call, in *[]control.AliasWeight) (*control.AliasWeights, error) {
	c.event = "AliasWeightsPut"
	return d.Region.SetAliasWeights(c.Context(), c.PathValue("alias"), *in)
}

func (d *Handler) pushBuild(c *call, body io.Reader) (*control.BuildPushed, error) {
	in := &control.BuildPush{}
	if err := decodeFrom(body, in); err != nil {
		return nil, err
	}
	pushed, err := d.Region.PushBuild(c.Context(), in)
	if err != nil {
		return nil, err
	}
	c.note("files", strconv.Itoa(len(in.Files)))
	if pushed.Build != nil {
		c.note("build", pushed.Build.BuildID)
	} else {
		c.note("missing", strconv.Itoa(len(pushed.Missing)))
	}
	return pushed, nil
}

func (d *Handler) storeChunks(c *call, body io.Reader) (*control.ChunksStored, error) {
	c.event = "BuildChunksStore"
	stored, err := d.Region.StoreChunks(c.Context(), body)
	if err == nil {
		c.note("bytes", strconv.FormatInt(stored.Bytes, 10))
	}
	return stored, err
}
