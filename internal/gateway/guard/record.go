package guard

import "net/http"

// A recorder records the status and the size of an answer.
type recorder struct {
	http.ResponseWriter

	status int // 0: nothing was written
	bytes  int64
}

// recording returns w as a recorder.
func recording(w http.ResponseWriter) *recorder {
	if r, ok := w.(*recorder); ok {
		return r
	}
	return &recorder{ResponseWriter: w}
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // not an informational one
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher, for streams.
func (r *recorder) Flush() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // not every writer supports it
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
