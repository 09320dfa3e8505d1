package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestFleetTags: tags are added and removed by those who may.
func TestFleetTags(t *testing.T) {
	w := newWorld(t)
	w.answersFleet()
	w.answers["ListTagsForResource"] = &wire.ListTagsForResourceResponse{Tags: []wire.Tag{{Key: "team", Value: "red"}}}
	w.answers["TagResource"], w.answers["UntagResource"] = &wire.TagResourceResponse{}, &wire.UntagResourceResponse{}
	forms := []string{`action="/console/fleets/f/tags"`, `action="/console/fleets/f/tags/remove"`}
	w.shows("GET", "/console/fleets/f?tab=tags", nil, 200, append(forms, `name="tag-key" value="team"`)...)

	form := url.Values{"tag-key": {"mode"}, "tag-value": {"ranked"}}
	w.leads("/console/fleets/f/tags", form, "/console/fleets/f?tab=tags&done=tag-stored")
	if in := w.inputs["TagResource"].(*wire.TagResourceRequest); in.ResourceARN != "arn:f" || len(in.Tags) != 1 ||
		in.Tags[0] != (wire.Tag{Key: "mode", Value: "ranked"}) {
		t.Errorf("tagged by %v", in)
	}
	w.leads("/console/fleets/f/tags/remove", url.Values{"tag-key": {"team"}},
		"/console/fleets/f?tab=tags&done=tag-removed")
	if in := w.inputs["UntagResource"].(*wire.UntagResourceRequest); in.ResourceARN != "arn:f" ||
		len(in.TagKeys) != 1 || in.TagKeys[0] != "team" {
		t.Errorf("untagged by %v", in)
	}
	w.fails["TagResource"] = fault.New(fault.InvalidRequest, "Too many tags.")
	w.shows("POST", "/console/fleets/f/tags", form, 400, "Too many tags.", `value="mode"`, `value="ranked"`)

	w.fails["gamelift:TagResource"], w.fails["gamelift:UntagResource"] = denied, denied
	body := w.shows("GET", "/console/fleets/f?tab=tags", nil, 200, "red")
	for _, f := range forms {
		if strings.Contains(body, f) {
			t.Errorf("a reader sees %s", f)
		}
	}
}
