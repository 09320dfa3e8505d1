package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire"
)

var basisField = regexp.MustCompile(`name="basis" value="([0-9a-f]+)"`)

// basis returns what the form of a page is made from.
func (w *world) basis(path string) string {
	w.Helper()
	body := w.do("GET", path, nil).Body.String()
	m := basisField.FindStringSubmatch(body)
	if m == nil {
		w.Fatalf("%s has no basis: %s", path, body)
	}
	return m[1]
}

// TestEdits: of two people who change the same thing, the second one overwrites nothing without seeing it.
func TestEdits(t *testing.T) {
	fleetWith := func(description string) func(*world) {
		return func(w *world) {
			w.answers["DescribeFleetAttributes"] = &wire.DescribeFleetAttributesOutput{
				FleetAttributes: []wire.FleetAttributes{{FleetId: "fleet-1", Name: "arena", Description: description,
					NewGameSessionProtectionPolicy: "NoProtection"}}}
			w.answers["DescribeFleetUtilization"] = &wire.DescribeFleetUtilizationOutput{}
			w.answers["DescribeFleetLocationAttributes"] = &wire.DescribeFleetLocationAttributesOutput{}
		}
	}
	for name, c := range map[string]struct {
		page, form, request, next string
		store                     func(text string) func(*world)
		typed                     url.Values // but the text
		text                      string     // its field
	}{
		"fleet": {"/console/fleets/fleet-1", "/change", "UpdateFleetAttributes", "?done=fleet-changed", fleetWith,
			url.Values{"fleet-name": {"arena"}, "protection": {"NoProtection"}}, "description"},
		"role": {"/console/roles/ops", "/put", "PUT /v1/roles/ops", "?done=role-stored",
			func(text string) func(*world) {
				return func(w *world) {
					w.answers["GET /v1/policies"] = map[string]any{}
					w.answers["GET /v1/roles/ops"] = access.RoleView{Name: "ops", Description: text, MaxDuration: 3600}
				}
			}, url.Values{"role-name": {"ops"}, "duration": {"3600"}}, "description"},
		"policy": {"/console/policies/p", "/put", "PUT /v1/policies/p", "?done=policy-stored",
			func(text string) func(*world) {
				return func(w *world) {
					w.answers["GET /v1/policies/p"] = access.PolicyView{Name: "p", Description: text,
						Document: []byte(`{"a":1}`)}
				}
			}, url.Values{"document": {"{\r\n  \"a\": 1\r\n}\r\n"}}, "description"},
		"provider": {"/console/providers/corp", "/put", "PUT /v1/providers/corp", "?done=provider-stored",
			func(text string) func(*world) {
				return func(w *world) {
					w.answers["GET /v1/providers/corp"] = access.ProviderView{ProviderInput: access.ProviderInput{
						Name: "corp", Issuer: "https://id.example", ClientID: text}}
				}
			}, url.Values{"issuer": {"https://id.example"}}, "client-id"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answers[c.request] = "{}"
			if !strings.Contains(c.request, " ") {
				w.answers[c.request] = &wire.UpdateFleetAttributesOutput{}
			}
			sent := func() bool { _, ok := w.inputs[c.request]; return ok }
			c.store("old")(w)
			form := c.typed
			form.Set(c.text, "mine")
			form.Set("basis", w.basis(c.page))
			c.store("theirs" + hostile)(w)
			body := w.shows("POST", c.page+c.form, form, 409, "ConflictException", "after this form was opened",
				"<pre>theirs&#34;&gt;&lt;script&gt;", "<td><pre>mine</pre></td>")
			if sent() || strings.Contains(body, "<script>alert") {
				t.Errorf("it was stored, or the page has markup: %s", body)
			}
			again := basisField.FindStringSubmatch(body)
			if again == nil || again[1] == form.Get("basis") {
				t.Fatalf("the form was not made again: %v", again)
			}
			form.Set("basis", again[1])
			w.leads(c.page+c.form, form, c.page+c.next)
			if !sent() {
				t.Error("it was not stored")
			}
		})
	}
}

// TestEditsAgree: what does not change what the form has is no conflict, and a form without its basis is one.
func TestEditsAgree(t *testing.T) {
	a, b := []field{{"Name", "x"}, {"Text", "1\n2"}}, []field{{"Name", "y"}, {"Text", "1\n2"}}
	for name, c := range map[string]struct {
		stored, typed []field
		basis         string
		conflicts     bool
	}{
		"nothing changed":        {a, b, basisOf(a), false},
		"both typed the same":    {b, b, basisOf(a), false},
		"another value":          {a, b, basisOf(b), true},
		"no basis":               {a, b, "", true},
		"line ends of a browser": {a, b, basisOf([]field{{"Name", "x"}, {"Text", "1\r\n2\r\n"}}), false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "/?basis="+c.basis, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &visit{r: r}
		if err := v.edited("It", c.stored, c.typed); (err != nil) != c.conflicts {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFleetChange sends only the settings that change, and says which cannot be removed.
func TestFleetChange(t *testing.T) {
	v := &visit{r: &http.Request{Form: url.Values{"creator": {"3"}, "period": {"15"}}}}
	stored := fleetEdit{Name: "arena", Protection: "NoProtection", Cost: "0.1"}
	typed := stored
	typed.Cost, typed.Creator, typed.Period = "0.2", "3", "15"
	in, err := v.fleetChange("fleet-1", &stored, &typed)
	if err != nil || in.Name != "" || in.AnywhereConfiguration.Cost != "0.2" ||
		in.ResourceCreationLimitPolicy.PolicyPeriodInMinutes.Or(0) != 15 || in.NewGameSessionProtectionPolicy != "" {
		t.Errorf("%+v, %v", in, err)
	}
	typed.Cost = ""
	if _, err := v.fleetChange("fleet-1", &stored, &typed); err == nil || !strings.Contains(err.Error(), "Cost") {
		t.Errorf("removed: %v", err)
	}
}
