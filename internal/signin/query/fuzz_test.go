package query

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// FuzzForm: no form panics in any operation; what is decoded obeys the rules; errors are well-formed faults.
func FuzzForm(f *testing.F) {
	for _, g := range goldens {
		f.Add(formText(g.service, g.call))
	}
	f.Add("Action=AssumeRole&Version=2011-06-15&Tags.member.65536.Key=a&Tags.=&Tags.member.=")
	f.Add("Action=ListUsers&Version=2010-05-08&MaxItems=-1&Marker=%ff%00")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		decoded(t, values)
		h := New((&world{T: t, fake: newFake()}).config())
		for i := range services {
			for j := range services[i].operations {
				c := &call{service: &services[i], operation: &services[i].operations[j], form: form{values: values}}
				c.id = h.Access.(*fake).identities[adaKey]
				result, err := runs(h, c)
				answered(t, h, c, result, err)
			}
		}
	})
}

// runs decides and serves a call.
func runs(h *Handler, c *call) (any, error) {
	if err := h.decide(context.Background(), c); err != nil {
		return nil, err
	}
	return c.operation.serve(context.Background(), h, c)
}

// answered checks that the answer is XML.
func answered(t *testing.T, h *Handler, c *call, result any, err error) {
	w := httptest.NewRecorder()
	code, _ := h.answer(w, c, result, err)
	if (err == nil) != (code == "") || err != nil && fault.Of(err).Message == "" ||
		w.Code == http.StatusInternalServerError {
		t.Errorf("%s: %d %q for %v", c.name(), w.Code, code, err)
	}
	if err := xml.Unmarshal(w.Body.Bytes(), new(struct{})); err != nil {
		t.Errorf("%s: %v in %s", c.name(), err, w.Body)
	}
}

// decoded checks lists against their rules: without a problem, every parameter of the list was read.
func decoded(t *testing.T, values url.Values) {
	f := form{values: values}
	tags := f.tags("Tags", maxTags)
	arns := f.texts("PolicyArns", "arn", maxPolicyArns, policyArnRule)
	if len(tags) > maxTags || len(arns) > maxPolicyArns {
		t.Errorf("%d tags, %d ARNs", len(tags), len(arns))
	}
	if f.err() != nil {
		return
	}
	for name := range values {
		number, ok := strings.CutPrefix(name, "PolicyArns.member.")
		number, field, _ := strings.Cut(number, ".")
		if ok && field == "arn" && !slices.Contains(arns, values.Get(name)) {
			t.Errorf("element %s was ignored: %v", number, arns)
		}
	}
}
