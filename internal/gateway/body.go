package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyTime limits how long reading a request's body takes.
const bodyTime = 10 * time.Second

// body reads the whole body of a request.
func (c *call) body() ([]byte, error) {
	conn := http.NewResponseController(c.w)
	// A server whose writer has no deadlines sets its own.
	_ = conn.SetReadDeadline(time.Now().Add(c.g.bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.g.maxBody))
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		return body, nil
	}
	c.refuseBody()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fail(BodyTooLarge, "The body of the request has more than %d bytes.", c.g.maxBody)
	}
	return nil, &failure{code: InvalidRequest, text: "The body of the request did not arrive in whole.", err: err}
}

// refuseBody closes the connection after the answer. Otherwise the server would read the rest of the body before it
// sends the answer.
func (c *call) refuseBody() { c.w.Header().Set("Connection", "close") }

// object reads the body of a request as a JSON object, whatever its Content-Type.
func (c *call) object() (*object, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return parseObject(body)
}
