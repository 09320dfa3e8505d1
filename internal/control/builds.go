package control

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The values of a build for which none are given. The API reference requires an operating system, but the AWS CLI does
// not send one. Source for the version: API reference, CreateBuild.
const (
	defaultOperatingSystem = wire.OperatingSystemAmazonLinux2023
	defaultSDKVersion      = "4.0.2"
)

// noObjects says why a region does not keep the bytes of builds.
const noObjects = "This region does not keep builds: it has no directory for the bytes of objects."

// keepsObjects reports whether the bytes of builds and objects can be kept.
func (p *Plane) keepsObjects() bool { return p.cfg.Objects != nil }

// CreateBuild creates a build. Without a storage location its answer has credentials for the upload of its files; with
// one the build refers to the bytes of that object, and becomes READY or FAILED soon.
func (p *Plane) CreateBuild(ctx context.Context, in *wire.CreateBuildInput) (*wire.CreateBuildOutput, error) {
	if !p.keepsObjects() {
		return nil, invalid("%s", noObjects)
	}
	command := newBuild(in)
	if in.StorageLocation != nil {
		if err := p.findSource(ctx, in.StorageLocation, &command); err != nil {
			return nil, err
		}
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	created(ctx, p.build("build", command.ID))
	build, err := p.shownBuild(command.ID)
	if err != nil {
		return nil, err
	}
	out := &wire.CreateBuildOutput{Build: build}
	if in.StorageLocation == nil {
		out.UploadCredentials, out.StorageLocation = p.uploadTo(command.ID)
	}
	return out, nil
}

// newBuild returns the command that creates a build, with a new id.
func newBuild(in *wire.CreateBuildInput) catalog.CreateBuild {
	return catalog.CreateBuild{
		ID: "build-" + uuid.NewString(), Name: in.Name, Version: in.Version,
		OperatingSystem: string(cmp.Or(in.OperatingSystem, defaultOperatingSystem)),
		SDKVersion:      cmp.Or(in.ServerSdkVersion, defaultSDKVersion), Tags: tagsFrom(in.Tags),
	}
}

// findSource sets the object from which a build is created. One that does not exist makes the build FAILED.
func (p *Plane) findSource(ctx context.Context, in *wire.S3Location, c *catalog.CreateBuild) error {
	switch {
	case in.Bucket == "" || in.Key == "":
		return invalid("StorageLocation needs a Bucket and a Key")
	case in.ObjectVersion != "" && in.ObjectVersion != "null":
		return invalid("StorageLocation has the ObjectVersion %.100s; objects have no versions here. Leave it out.",
			in.ObjectVersion)
	}
	c.Source = catalog.BuildSource{Bucket: in.Bucket, Key: in.Key, RoleARN: in.RoleArn}
	o, ok := p.Catalog().Object(in.Bucket, in.Key)
	if !ok {
		return nil
	}
	if err := p.renewObject(ctx, o.Hash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Hash, c.Size = o.Hash, o.Size
	return nil
}

// uploadTo returns credentials for the upload of a build, and where it leads.
func (p *Plane) uploadTo(build string) (*wire.AwsCredentials, *wire.S3Location) {
	key := p.IssueUpload(build)
	return &wire.AwsCredentials{AccessKeyId: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey,
		SessionToken: key.SessionToken}, &wire.S3Location{Bucket: p.buildBucket(), Key: p.buildKey(build)}
}

// RequestUploadCredentials returns new credentials for the upload of a build that has no files yet.
func (p *Plane) RequestUploadCredentials(_ context.Context,
	in *wire.RequestUploadCredentialsInput) (*wire.RequestUploadCredentialsOutput, error) {
	b, err := p.findBuild(in.BuildId)
	switch {
	case err != nil:
		return nil, err
	case !p.keepsObjects():
		return nil, invalid("%s", noObjects)
	case b.Status != catalog.BuildInitialized || b.Hash != "":
		return nil, invalid("Build %s has its files, and they cannot be changed. Create another build.", b.ID)
	}
	out := &wire.RequestUploadCredentialsOutput{}
	out.UploadCredentials, out.StorageLocation = p.uploadTo(b.ID)
	return out, nil
}

// findBuild returns the build with an id or ARN.
func (p *Plane) findBuild(idOrArn string) (*catalog.Build, error) {
	b, ok := p.Catalog().Build(buildID(idOrArn))
	if !ok || p.Elsewhere(idOrArn) {
		return nil, notFound("Build %s not found", idOrArn)
	}
	return b, nil
}

func buildID(idOrArn string) string {
	if id, ok := arn.ParseBuild(idOrArn); ok {
		return id
	}
	return idOrArn
}

// shownBuild returns a build as the API shows it.
func (p *Plane) shownBuild(idOrArn string) (*wire.Build, error) {
	b, err := p.findBuild(idOrArn)
	if err != nil {
		return nil, err
	}
	return p.buildTo(b), nil
}

func (p *Plane) buildTo(b *catalog.Build) *wire.Build {
	status, _ := p.buildStatus(b)
	out := &wire.Build{
		BuildId: b.ID, BuildArn: arn.Build(p.names.Region, p.names.Account, b.ID), Name: b.Name, Version: b.Version,
		Status: wire.BuildStatus(status), OperatingSystem: wire.OperatingSystem(b.OperatingSystem),
		ServerSdkVersion: b.SDKVersion, CreationTime: b.Created.Time(), SizeOnDisk: wire.Some(int64(0)),
	}
	if b.Status != catalog.BuildInitialized && b.Source == (catalog.BuildSource{}) {
		out.SizeOnDisk = wire.Some(b.Size)
	}
	return out
}

// bytesMissing is the reason of builds whose bytes were there once.
const bytesMissing = "The bytes of the build are not in the object store of this region: a backup without builds was " +
	"restored, or files were deleted. Upload the build again as another one."

// buildStatus returns the status of a build, and why it is FAILED. Builds without their bytes are: that is derived, so
// that they are READY again when the bytes return.
func (p *Plane) buildStatus(b *catalog.Build) (catalog.BuildStatus, string) {
	if b.Hash != "" && b.Status != catalog.BuildFailed && !p.hasBytes(b.Hash) {
		return catalog.BuildFailed, bytesMissing
	}
	return b.Status, b.Reason
}

// startableBuild returns the build with an id or ARN for the instances of a fleet. NotFound; InvalidRequest if it is
// FAILED, or the region keeps no builds.
func (p *Plane) startableBuild(idOrArn string) (*catalog.Build, error) {
	if !p.keepsObjects() {
		return nil, invalid("%s", noObjects)
	}
	b, err := p.findBuild(idOrArn)
	if err != nil {
		return nil, err
	}
	if status, reason := p.buildStatus(b); status == catalog.BuildFailed {
		return nil, invalid("Build %s is FAILED: %s", b.ID, reason)
	}
	return b, nil
}

func (p *Plane) hasBytes(hash string) bool {
	switch {
	case p.copies != nil:
		return p.copies.Has(hash)
	case p.cfg.Objects != nil:
		return p.cfg.Objects.Has(hash)
	}
	return false
}

// DescribeBuild describes one build.
func (p *Plane) DescribeBuild(_ context.Context, in *wire.DescribeBuildInput) (*wire.DescribeBuildOutput, error) {
	build, err := p.shownBuild(in.BuildId)
	return &wire.DescribeBuildOutput{Build: build}, err
}

// ListBuilds lists builds by id, of one status or of all.
func (p *Plane) ListBuilds(_ context.Context, in *wire.ListBuildsInput) (*wire.ListBuildsOutput, error) {
	builds, next, err := page(p.secrets.Pages("ListBuilds", string(in.Status)), in.NextToken,
		func(after string) ([]*catalog.Build, bool) {
			return p.buildsAfter(string(in.Status), after, pageSize(in.Limit))
		},
		func(b *catalog.Build) string { return b.ID })
	if err != nil {
		return nil, err
	}
	return &wire.ListBuildsOutput{Builds: shown(builds, p.buildTo), NextToken: next}, nil
}

// buildsAfter returns builds of a status, "" for any, after an id.
func (p *Plane) buildsAfter(status, after string, limit int) (builds []*catalog.Build, more bool) {
	return p.Catalog().Builds(func(b *catalog.Build) bool {
		if status == "" {
			return true
		}
		is, _ := p.buildStatus(b)
		return string(is) == status
	}, after, limit)
}

// UpdateBuild changes name and version.
func (p *Plane) UpdateBuild(ctx context.Context, in *wire.UpdateBuildInput) (*wire.UpdateBuildOutput, error) {
	b, err := p.findBuild(in.BuildId)
	if err != nil {
		return nil, err
	}
	command := catalog.UpdateBuild{ID: b.ID, Name: optional(in.Name), Version: optional(in.Version)}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	build, err := p.shownBuild(b.ID)
	return &wire.UpdateBuildOutput{Build: build}, err
}

// DeleteBuild deletes a build. Its bytes are deleted when nothing else refers to them.
func (p *Plane) DeleteBuild(ctx context.Context, in *wire.DeleteBuildInput) error {
	b, err := p.findBuild(in.BuildId)
	if err != nil {
		return err
	}
	if err := p.Change(ctx, catalog.DeleteBuild{ID: b.ID}); err != nil {
		return err
	}
	p.builds.sweep()
	return nil
}

// buildBucket is the bucket to which builds are uploaded.
func (p *Plane) buildBucket() string { return "gamelift-builds-" + p.cfg.Region }

// buildKey is the key of a build in that bucket.
func (p *Plane) buildKey(build string) string { return p.cfg.Account + "/" + build }

// buildOfKey returns the build of a key in the bucket of builds.
func (p *Plane) buildOfKey(key string) (build string, ok bool) {
	return strings.CutPrefix(key, p.cfg.Account+"/")
}

// A BuildView is a build with what is known of its files.
type BuildView struct {
	BuildID          string     `json:"buildId"`
	Name             string     `json:"name,omitempty"`
	Version          string     `json:"version,omitempty"`
	OperatingSystem  string     `json:"operatingSystem"`
	ServerSDKVersion string     `json:"serverSdkVersion"`
	Status           string     `json:"status"`             // INITIALIZED, READY or FAILED
	Reason           string     `json:"reason,omitempty"`   // why it is FAILED
	Size             int64      `json:"size"`               // of the zip archive in bytes; 0: there is none yet
	Unpacked         int64      `json:"unpacked,omitempty"` // size of all files in bytes
	Files            int        `json:"files,omitempty"`
	Hash             string     `json:"hash,omitempty"`   // SHA-256 of the archive
	Tree             string     `json:"tree,omitempty"`   // SHA-256 of the paths, modes and contents of all files
	Bucket           string     `json:"bucket,omitempty"` // from whose object it was created
	Key              string     `json:"key,omitempty"`
	CreationTime     time.Time  `json:"creationTime"`
	Tags             []BuildTag `json:"tags,omitempty"`
}

// A BuildTag is a tag of a build.
type BuildTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A BuildList is a page of builds.
type BuildList struct {
	Builds    []BuildView `json:"builds"`
	NextToken string      `json:"nextToken,omitempty"`
}

// BuildView returns a build by id. NotFound.
func (p *Plane) BuildView(id string) (*BuildView, error) {
	b, err := p.findBuild(id)
	if err != nil {
		return nil, err
	}
	view := p.buildView(b)
	for _, t := range p.Catalog().Tags(string(arn.KindBuild) + "/" + b.ID) {
		view.Tags = append(view.Tags, BuildTag{t.Key, t.Value})
	}
	return view, nil
}

// BuildViews returns a page of builds by id, of one status or for "" of any. InvalidRequest for a status that builds do
// not have.
func (p *Plane) BuildViews(status string, limit int, token string) (*BuildList, error) {
	switch catalog.BuildStatus(status) {
	case "", catalog.BuildInitialized, catalog.BuildReady, catalog.BuildFailed:
	default:
		return nil, fault.New(fault.InvalidRequest, "status is %.100q: it must be INITIALIZED, READY or FAILED", status)
	}
	builds, next, err := page(p.secrets.Pages("BuildViews", status), token,
		func(after string) ([]*catalog.Build, bool) { return p.buildsAfter(status, after, limit) },
		func(b *catalog.Build) string { return b.ID })
	if err != nil {
		return nil, err
	}
	return &BuildList{shown(builds, p.buildView), next}, nil
}

func (p *Plane) buildView(b *catalog.Build) *BuildView {
	status, reason := p.buildStatus(b)
	return &BuildView{
		BuildID: b.ID, Name: b.Name, Version: b.Version, OperatingSystem: b.OperatingSystem,
		ServerSDKVersion: b.SDKVersion, Status: string(status), Reason: reason, Size: b.Size, Unpacked: b.Unpacked,
		Files: b.Files, Hash: b.Hash, Tree: b.Tree, Bucket: b.Source.Bucket, Key: b.Source.Key,
		CreationTime: b.Created.Time(),
	}
}
