package control

import (
	"context"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// TagResource adds tags to a resource and replaces those with the same keys.
func (p *Plane) TagResource(ctx context.Context, in *wire.TagResourceRequest) error {
	resource, err := p.taggable(in.ResourceARN)
	if err != nil {
		return err
	}
	return p.Change(ctx, catalog.TagResource{Resource: resource, Tags: tagsFrom(in.Tags)})
}

// UntagResource removes tags; keys that do not exist are ignored.
func (p *Plane) UntagResource(ctx context.Context, in *wire.UntagResourceRequest) error {
	resource, err := p.taggable(in.ResourceARN)
	if err != nil {
		return err
	}
	return p.Change(ctx, catalog.UntagResource{Resource: resource, Keys: in.TagKeys})
}

// ListTagsForResource lists the tags of a resource.
func (cr *catalogReader) ListTagsForResource(_ context.Context,
	in *wire.ListTagsForResourceRequest) (*wire.ListTagsForResourceResponse, error) {
	resource, err := cr.taggable(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	view := cr.Catalog()
	if !view.Taggable(resource) {
		return nil, notFound("Resource %s not found", in.ResourceARN)
	}
	out := &wire.ListTagsForResourceResponse{Tags: []wire.Tag{}}
	for _, t := range view.Tags(resource) {
		out.Tags = append(out.Tags, wire.Tag{Key: t.Key, Value: t.Value})
	}
	return out, nil
}

// taggable returns the key of a resource's tags in the catalog.
func (sh shapes) taggable(resourceArn string) (string, error) {
	kind, id, ok := arn.ParseResource(resourceArn)
	if sh.names.Elsewhere(resourceArn) {
		return "", notFound("Resource %s not found: this is Region %s", resourceArn, sh.names.Region)
	}
	if !ok {
		return "", invalid("ResourceARN %s is not the ARN of a resource that can have tags", resourceArn)
	}
	return string(kind) + "/" + id, nil
}
