package signin

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/style"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

//go:embed templates/*.html
var templateFiles embed.FS

// assetFiles are the style and the script of the pages.
//
//go:embed assets
var assetFiles embed.FS

// styleFile is the asset with the style that the console shares.
const styleFile = "muster.css"

// A page is what every template is executed with.
type page struct {
	Title  string // of the document, and the heading
	Alert  string // what went wrong; announced by screen readers
	Person string // who is signed in; ""
	Region string
	Body   any // of the template
}

type (
	signInBody struct {
		Return    string
		Name      string // that was typed
		Passwords bool
		Providers []providerLink
	}
	providerLink struct{ Name, Href string }

	inviteBody struct{ Token, Name string }

	codeBody struct{ Code string }

	consentBody struct {
		Action                string // of the form
		Client, User, Account string
		From                  string    // address of the device; "": not known
		Asked                 time.Time // zero: now
		Code                  string    // of a device
		Roles                 []string  // to choose from
		Remote                bool      // what asks can run on another machine
	}

	doneBody struct{ Text string }

	errorBody struct{ RequestID string }

	startBody struct {
		Account string
		Roles   []roleBody
	}
	roleBody struct {
		N                           int
		Name, Description, Settings string
	}

	keysBody struct {
		Role    string
		Expires time.Time
		Forms   []keyForm
	}
	keyForm struct{ ID, Title, Text string }

	confirmationBody struct {
		Code    string
		Seconds int
	}
)

// pages has the templates by name.
type pages map[string]*template.Template

// parsePages parses the embedded templates, whose errors the tests find.
func parsePages() pages {
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	all := pages{}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f), ".html")
		if name == "layout" {
			continue
		}
		all[name] = template.Must(template.New("layout.html").Funcs(template.FuncMap{
			"utc": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
			"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		}).ParseFS(templateFiles, "templates/layout.html", f))
	}
	return all
}

// show answers with a page.
func (h *Handler) show(v *visit, status int, name string, p page) {
	p.Region = h.Region
	var b bytes.Buffer
	if err := h.pages[name].Execute(&b, p); err != nil {
		if suppressed, ok := h.lines.Allow("template"); ok {
			h.Log.Error("page failed", "page", name, "err", err, "suppressed", suppressed)
		}
		http.Error(v.w, reasons[internal].message, http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if _, err := v.w.Write(b.Bytes()); err != nil { // the browser has gone
		h.Log.Debug("page not written", "err", err)
	}
}

// A pageFailure is answered with the page of errors.
type pageFailure struct {
	status  int
	message string
}

func (p *pageFailure) Error() string { return p.message }

func pageError(status int, format string, args ...any) error {
	return &pageFailure{status, fmt.Sprintf(format, args...)}
}

func (h *Handler) showError(v *visit, f *pageFailure) {
	p := page{Title: http.StatusText(f.status), Alert: f.message, Body: errorBody{v.from.RequestID}}
	if f.status == http.StatusNotFound {
		p.Title = "Page not found"
	}
	h.show(v, f.status, "error", p)
}

// parseForm reads the form of a page.
func parseForm(v *visit) error {
	err := v.r.ParseForm()
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	if err != nil {
		return pageError(http.StatusBadRequest, "The form cannot be read. Go back and try again.")
	}
	return nil
}

// asset serves the style and the script.
func (h *Handler) asset(v *visit) error {
	name := v.r.PathValue("file")
	data, err := assetFiles.ReadFile("assets/" + name)
	if name == styleFile {
		data, err = style.CSS, nil
	}
	if err != nil {
		return pageError(http.StatusNotFound, "There is no such file: %.100q.", loglimit.Clip(name))
	}
	v.w.Header().Set("Cache-Control", "public, max-age=300")
	http.ServeContent(v.w, v.r, name, time.Time{}, bytes.NewReader(data))
	return nil
}
