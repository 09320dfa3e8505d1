package operator

import (
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// backup streams a backup, for the root key only, because it contains the region's secret.
func (d *Handler) backup(w http.ResponseWriter, r *http.Request) {
	caller, _ := r.Context().Value(callerKey{}).(sigv4.Caller)
	if !d.Region.IsRootKey(caller.AccessKeyID) {
		d.fail(w, fault.New(fault.AccessDenied, "A backup contains the region's secret. Use the access key that was "+
			"created with the region."))
		return
	}
	ctx, cancel := d.untilStopped(r.Context())
	defer cancel()
	begin := time.Now()
	to := &backupWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	err := d.Backup(ctx, to)
	switch {
	case err == nil:
		d.Log.Info("backup finished", "access_key", caller.AccessKeyID, "bytes", to.wrote,
			"duration", time.Since(begin))
	case to.wrote == 0:
		d.fail(w, err)
	default:
		d.Log.Warn("backup failed", "bytes", to.wrote, "err", err)
		panic(http.ErrAbortHandler) // so that the client notices the truncation
	}
}

// A backupWriter writes the response body with a time limit per write: while a backup is in progress the journal
// deletes nothing, and grows.
type backupWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	wrote   int64
}

func (w *backupWriter) Write(p []byte) (int, error) {
	if w.wrote == 0 {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := w.ResponseWriter.Write(p)
	w.wrote += int64(n)
	return n, err
}
