package operator

import (
	"net/http"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// backup streams a backup, which contains the region's secret.
func (d *Handler) backup(w http.ResponseWriter, c *call) error {
	values, err := c.parameters()
	if err != nil {
		return err
	}
	builds, err := optional(values, "builds", strconv.ParseBool)
	if err != nil {
		return fault.New(fault.InvalidRequest, "Parameter builds is %.100q: it must be true or false.",
			values["builds"])
	}
	ctx, cancel := d.untilStopped(c.Context())
	defer cancel()
	begin := time.Now()
	to := &backupWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	err = d.Backup(ctx, to, builds)
	switch {
	case err == nil:
		d.Log.Info("backup finished", "access_key", c.id.KeyID, "bytes", to.wrote,
			"duration", time.Since(begin))
	case to.wrote == 0:
		return err
	default:
		d.Log.Warn("backup failed", "bytes", to.wrote, "err", err)
		panic(http.ErrAbortHandler) // so that the client notices the truncation
	}
	return nil
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
