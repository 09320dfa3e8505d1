package console

import (
	"net/http"
	"net/url"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// A buildsBody is a page of the builds of the region.
type buildsBody struct {
	control.BuildList
	Status string // that is shown; "": any
}

func buildsPage(v *visit) error {
	b := buildsBody{Status: v.r.URL.Query().Get("status")}
	path := v.rowsOf("builds")
	if b.Status != "" {
		path += "&" + url.Values{"status": {b.Status}}.Encode()
	}
	if err := v.request(http.MethodGet, path, nil, &b.BuildList); err != nil {
		return err
	}
	return v.show("builds", page{Title: "Builds", Nav: "/console/builds", Live: true, Body: &b})
}

// Statuses are the choices of the form.
func (*buildsBody) Statuses() []wire.BuildStatus {
	return []wire.BuildStatus{wire.BuildStatusInitialized, wire.BuildStatusReady, wire.BuildStatusFailed}
}

// Next is the address of the next page; "": there is none.
func (b *buildsBody) Next() string {
	if b.NextToken == "" {
		return ""
	}
	q := url.Values{"next": {b.NextToken}}
	if b.Status != "" {
		q.Set("status", b.Status)
	}
	return "/console/builds?" + q.Encode()
}

func buildPath(id string) string { return "/console/builds/" + url.PathEscape(id) }

func buildPage(v *visit) error { return v.build(nil) }

func (v *visit) build(refused error) error {
	var b control.BuildView
	if err := v.request(http.MethodGet, in("builds", v.r.PathValue("id")), nil, &b); err != nil {
		return err
	}
	title := b.Name
	if title == "" {
		title = b.BuildID
	}
	p := page{Title: title, Nav: "/console/builds", Crumbs: []link{{"Builds", "/console/builds"}},
		Live: refused == nil, Body: &b}
	return v.refused("build", p, refused)
}

func deleteBuild(v *visit) error {
	id := v.r.PathValue("id")
	if v.form("confirm") != id {
		return v.build(invalid("Type the id of the build, %s, to delete it.", id))
	}
	if _, err := call(v, wire.OpDeleteBuild, &wire.DeleteBuildInput{BuildId: id}); err != nil {
		return v.build(err)
	}
	return v.redirect("/console/builds?done=build-deleted")
}
