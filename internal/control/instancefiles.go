package control

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The paths of files that machines and people transfer by HTTP, below the service's URL. Each has the permission to do
// so in the path.
const (
	filesPrefix = "/agent/files/"
	buildKind   = "build" // GET by the machine of an instance
	logKind     = "log"   // PUT by the machine of an instance
	shownKind   = "shown" // GET of a log by those who have read the fleet event
)

const (
	// maxInstallLog is the maximum size of the output of an installation in bytes.
	maxInstallLog = 1 << 20
	// logShown is how long the URL of a log is valid. Source: API reference, Event.PreSignedLogUrl.
	logShown = 15 * time.Minute
)

// buildPath is where the machine of an instance gets the files of its build.
func (p *Plane) buildPath(instance, hash string) string {
	return filesPrefix + path.Join(buildKind, instance, hash, p.secrets.FilePermission(buildKind, instance, hash))
}

// logPath is where the machine of an instance puts the output of its installation.
func (p *Plane) logPath(instance string) string {
	return filesPrefix + path.Join(logKind, instance, p.secrets.FilePermission(logKind, instance))
}

// shownPath is where a log can be read for a while.
func (p *Plane) shownPath(hash string) string {
	until := strconv.FormatInt(p.cfg.Clock.Now().Add(logShown).Unix(), 10)
	return filesPrefix + path.Join(shownKind, hash, until, p.secrets.FilePermission(shownKind, hash, until))
}

// MatchesFile reports whether a request is for ServeFile.
func MatchesFile(r *http.Request) bool { return strings.Contains(r.URL.Path, filesPrefix) }

// ServeFile transfers a file to or from a machine. Permissions are in the path, so that it needs no credentials.
func (p *Plane) ServeFile(w http.ResponseWriter, r *http.Request) {
	_, rest, _ := strings.Cut(r.URL.Path, filesPrefix)
	parts := strings.Split(rest, "/")
	permitted := p.cfg.Objects != nil && len(parts) > 1 &&
		p.secrets.PermitsFile(parts[len(parts)-1], parts[:len(parts)-1]...)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case !permitted:
		http.Error(w, "The path has no permission for this file.", http.StatusForbidden)
	case reads && parts[0] == buildKind && len(parts) == 4:
		p.serveBuild(w, r, parts[1], parts[2])
	case reads && parts[0] == shownKind && len(parts) == 4:
		p.serveLog(w, r, parts[1], parts[2])
	case r.Method == http.MethodPut && parts[0] == logKind && len(parts) == 3:
		p.receiveLog(w, r, parts[1])
	default:
		http.Error(w, "The method is not allowed.", http.StatusMethodNotAllowed)
	}
}

// serveBuild serves the files of a build, as long as the instance needs them.
func (p *Plane) serveBuild(w http.ResponseWriter, r *http.Request, instance, hash string) {
	i, ok := p.Catalog().Instance(instance)
	if !ok {
		http.Error(w, "The instance has ended.", http.StatusNotFound)
		return
	}
	if f, ok := p.Catalog().Fleet(i.Fleet); !ok || !slices.Contains(f.Hashes(), hash) {
		http.Error(w, "The instance has another build.", http.StatusNotFound)
		return
	}
	p.serveObject(w, r, hash, "application/zip")
}

func (p *Plane) serveLog(w http.ResponseWriter, r *http.Request, hash, until string) {
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil || p.cfg.Clock.Now().Unix() > end {
		http.Error(w, "The URL has expired. Call DescribeFleetEvents for another one.", http.StatusForbidden)
		return
	}
	p.serveObject(w, r, hash, "text/plain; charset=utf-8")
}

// serveObject serves bytes of the object store, the range that the request names or all.
func (p *Plane) serveObject(w http.ResponseWriter, r *http.Request, hash, contentType string) {
	f, err := p.cfg.Objects.Open(hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "The file is not in the object store any more.", http.StatusNotFound)
		return
	case err != nil:
		p.cfg.Log.Error("file not served", "hash", hash, "err", err)
		http.Error(w, "The file cannot be read.", http.StatusInternalServerError)
		return
	}
	defer func() { _ = f.Close() }() // only read
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("ETag", strconv.Quote(hash))
	http.ServeContent(w, r, "", time.Time{}, f)
}

// receiveLog stores the output of an instance's installation.
func (p *Plane) receiveLog(w http.ResponseWriter, r *http.Request, instance string) {
	err := p.putLog(r.Context(), instance, r.Body)
	switch f := fault.Of(err); {
	case err == nil:
	case f.Kind == fault.NotFound:
		http.Error(w, f.Message, http.StatusNotFound)
	case f.Kind == fault.InvalidRequest:
		http.Error(w, f.Message, http.StatusRequestEntityTooLarge)
	default:
		p.cfg.Log.Error("log of an installation not stored", "instance", instance, "err", err)
		http.Error(w, "The log cannot be stored.", http.StatusServiceUnavailable)
	}
}

func (p *Plane) putLog(ctx context.Context, instance string, from io.Reader) error {
	i, ok := p.Catalog().Instance(instance)
	if !ok {
		return notFound("The instance has ended.")
	}
	to, err := p.cfg.Objects.Create(maxInstallLog)
	if err != nil {
		return err
	}
	defer to.Abort()
	if _, err := io.Copy(to, from); err != nil {
		if tooLarge, ok := errors.AsType[*objects.Error](err); ok && tooLarge.Code == objects.EntityTooLarge {
			return invalid("The log has more than %d bytes.", maxInstallLog)
		}
		return err
	}
	if err := to.Commit(); err != nil {
		return err
	}
	if err := p.spreadObject(ctx, to.SHA256()); err != nil {
		return tooFewCopies(err)
	}
	return p.Change(ctx, catalog.PutInstanceLog{ID: i.ID, Machine: i.Machine, Hash: to.SHA256()})
}
