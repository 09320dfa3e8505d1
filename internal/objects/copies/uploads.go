package copies

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/muster-gg/muster/internal/objects"
)

// Uploads are on the node that has begun them. Other nodes, to which a load balancer sends requests of the same upload,
// have it carry them out: a part becomes a blob of the node that receives it, from which the other one copies it.

// uploadQuestion is the kind of a question about an upload. Its body is an uploadRequest.
const uploadQuestion byte = 'u'

// uploadLimit is the timeout of a request about an upload: joining many parts takes long.
const uploadLimit = 10 * time.Minute

// Methods of an uploadRequest.
const (
	methodUpload   = "upload"
	methodPart     = "part"
	methodParts    = "parts"
	methodComplete = "complete"
	methodAbort    = "abort"
)

// An uploadRequest is a call of a method of objects.Uploads.
type uploadRequest struct {
	Method string         `json:"method"`
	ID     string         `json:"id"`
	Part   objects.Part   `json:"part,omitzero"` // of methodPart, with Number and Checksum
	Hash   string         `json:"hash,omitempty"`
	After  int            `json:"after,omitempty"`
	Limit  int            `json:"limit,omitempty"`
	Want   []objects.Part `json:"want,omitempty"`
}

// An uploadAnswer is its result. Code and Message are of an *objects.Error.
type uploadAnswer struct {
	Upload  objects.Upload `json:"upload,omitzero"`
	Part    objects.Part   `json:"part,omitzero"`
	Parts   []objects.Part `json:"parts,omitempty"`
	Object  objects.Object `json:"object,omitzero"`
	Code    objects.Code   `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
}

// Copies implements objects.Uploads for all nodes.
var _ objects.Uploads = (*Copies)(nil)

// Initiate implements objects.Uploads: the upload is on this node.
func (c *Copies) Initiate(u objects.Upload) (objects.Upload, error) { return c.Store.Initiate(u) }

// Upload implements objects.Uploads. It asks the other nodes for an upload that this one does not have.
func (c *Copies) Upload(id string) (objects.Upload, error) {
	u, err := c.Store.Upload(id)
	if objects.CodeOf(err) != objects.NoSuchUpload {
		return u, err
	}
	for _, node := range c.Peers.Living() {
		if node == c.Self {
			continue
		}
		a, failed := c.askUpload(node, uploadRequest{Method: methodUpload, ID: id})
		if failed == nil {
			a.Upload.Node = node
			return a.Upload, nil
		}
		if objects.CodeOf(failed) != objects.NoSuchUpload { // that node may have it
			err = failed
		}
	}
	return u, err
}

// PutPart implements objects.Uploads.
func (c *Copies) PutPart(u objects.Upload, number int, checksum string, w *objects.Writer) (objects.Part, error) {
	if u.Node == "" {
		return c.Store.PutPart(u, number, checksum, w)
	}
	if err := w.Commit(); err != nil {
		return objects.Part{}, err
	}
	a, err := c.askUpload(u.Node, uploadRequest{Method: methodPart, ID: u.ID, Hash: w.SHA256(),
		Part: objects.Part{Number: number, Checksum: checksum}})
	return a.Part, err
}

// Parts implements objects.Uploads.
func (c *Copies) Parts(u objects.Upload, after, limit int) ([]objects.Part, error) {
	if u.Node == "" {
		return c.Store.Parts(u, after, limit)
	}
	a, err := c.askUpload(u.Node, uploadRequest{Method: methodParts, ID: u.ID, After: after, Limit: limit})
	return a.Parts, err
}

// Complete implements objects.Uploads. The bytes are on the node of the upload.
func (c *Copies) Complete(u objects.Upload, want []objects.Part) (objects.Object, error) {
	if u.Node == "" {
		return c.Store.Complete(u, want)
	}
	a, err := c.askUpload(u.Node, uploadRequest{Method: methodComplete, ID: u.ID, Want: want})
	return a.Object, err
}

// Abort implements objects.Uploads.
func (c *Copies) Abort(u objects.Upload) error {
	if u.Node == "" {
		return c.Store.Abort(u)
	}
	_, err := c.askUpload(u.Node, uploadRequest{Method: methodAbort, ID: u.ID})
	return err
}

func (c *Copies) askUpload(node string, r uploadRequest) (a uploadAnswer, err error) {
	ctx, cancel := context.WithTimeout(c.done, uploadLimit)
	defer cancel()
	body, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	data, err := c.ask(ctx, node, append([]byte{uploadQuestion}, body...))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	switch {
	case err != nil:
		return a, &objects.Error{Code: objects.ServiceUnavailable,
			Message: "The node that has the upload does not answer.",
			Err:     err}
	case a.Code != "":
		return a, &objects.Error{Code: a.Code, Message: a.Message}
	}
	return a, nil
}

// answerUpload answers a question about an upload of this node.
func (c *Copies) answerUpload(ctx context.Context, body []byte) ([]byte, error) {
	var r uploadRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, errMalformed
	}
	a, err := c.callUpload(ctx, r)
	if code := objects.CodeOf(err); code == objects.InternalError {
		return nil, err
	} else if err != nil {
		a = uploadAnswer{Code: code, Message: objects.MessageOf(err)}
	}
	return json.Marshal(a)
}

func (c *Copies) callUpload(ctx context.Context, r uploadRequest) (a uploadAnswer, err error) {
	u, err := c.Store.Upload(r.ID)
	if err != nil {
		return a, err
	}
	switch r.Method {
	case methodUpload:
		a.Upload = u
	case methodPart:
		a.Part, err = c.takePart(ctx, u, r)
	case methodParts:
		a.Parts, err = c.Store.Parts(u, r.After, r.Limit)
	case methodComplete:
		a.Object, err = c.Store.Complete(u, r.Want)
	case methodAbort:
		err = c.Store.Abort(u)
	default:
		err = errMalformed
	}
	return a, err
}

// takePart makes a part of a blob that another node has.
func (c *Copies) takePart(ctx context.Context, u objects.Upload, r uploadRequest) (p objects.Part, err error) {
	if err := c.Fetch(ctx, r.Hash); err != nil {
		return p, err
	}
	f, err := c.Store.OpenHere(r.Hash)
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }() // only read
	w, err := c.Store.Create(0)
	if err != nil {
		return p, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, f); err != nil {
		return p, err
	}
	return c.Store.PutPart(u, r.Part.Number, r.Part.Checksum, w)
}
