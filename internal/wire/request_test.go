package wire

import (
	"context"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestRequestNames: what a body names is known before it is checked, and what cannot be read names nothing.
func TestRequestNames(t *testing.T) {
	tag := OpTagResource.HandleEmpty(func(context.Context, *TagResourceRequest) error { return nil })
	untag := OpUntagResource.HandleEmpty(func(context.Context, *UntagResourceRequest) error { return nil })
	describe := OpDescribeFleetAttributes.Handle(
		func(context.Context, *DescribeFleetAttributesInput) (*DescribeFleetAttributesOutput, error) {
			return nil, nil
		})
	for _, c := range []struct {
		handler Handler
		body    string
		member  string
		texts   []string
		tags    map[string]string
		fails   fault.Kind
	}{
		{tag, `{"ResourceARN":"!","Tags":[{"Key":"a","Value":"b"}]}`, "ResourceARN", []string{"!"},
			map[string]string{"a": "b"}, ""},
		{untag, `{"ResourceARN":"arn:aws:gamelift:us-west-2::alias/x","TagKeys":["a"]}`, "ResourceARN",
			[]string{"arn:aws:gamelift:us-west-2::alias/x"}, map[string]string{"a": ""}, ""},
		{describe, `{"FleetIds":["x","y"]}`, "FleetIds", []string{"x", "y"}, nil, fault.InvalidRequest},
		{describe, `{"Limit":1}`, "FleetIds", nil, nil, ""},
		{describe, `{"Limit":1}`, "Limit", nil, nil, ""},
		{describe, `{"Limit":1}`, "None", nil, nil, ""},
		{describe, `{"FleetIds":["x"]`, "FleetIds", nil, nil, fault.Serialization},
	} {
		r := c.handler.Read(JSON, []byte(c.body))
		if got := r.AppendTexts(nil, c.handler.Member(c.member)); !reflect.DeepEqual(got, c.texts) {
			t.Errorf("%s: %s is %q", c.body, c.member, got)
		}
		if got := r.Tags(); !reflect.DeepEqual(got, c.tags) {
			t.Errorf("%s: tags are %v", c.body, got)
		}
		var out []byte
		err := r.Serve(t.Context(), &out)
		if c.fails == "" && err != nil || c.fails != "" && !fault.Is(err, c.fails) {
			t.Errorf("%s: %v", c.body, err)
		}
		r.Discard() // once more does nothing
	}
}
