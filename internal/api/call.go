package api

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A call is a request being served.
type call struct {
	request   *listen.Request
	read      func() ([]byte, error) // reads the body; nil: the request has it
	requestID string
	protocol  wire.Protocol
	handler   bound  // Info is nil until the operation is known
	principal string // "" until the signature is verified
	bytesIn   int
	lost      bool // its answer is not sent
	input     wire.Request

	// Of a call that policies decide, or that is recorded.
	identity  *access.Identity
	origin    access.Origin
	resources []string // ARNs
	denied    bool
	names     []string // of resources, in memory that is used again
}

func (c *call) operation() string {
	if c.handler.Info == nil {
		return Unknown
	}
	return c.handler.Info.Name
}

// models reports whether the model lists an exception for the call's operation.
func (c *call) models(kind fault.Kind) bool {
	return c.handler.Info != nil && c.handler.Info.Models(kind)
}

func (c *call) body() (body []byte, err error) {
	if body = c.request.Body; c.read != nil {
		body, err = c.read()
	}
	c.bytesIn = len(body)
	return body, err
}

// maxNames bounds the memory that is used again.
const maxNames = 32

var calls = sync.Pool{New: func() any { return new(call) }}

// newCall returns a call, to be released after its answer was reported.
func newCall(r *listen.Request, read func() ([]byte, error)) *call {
	c := calls.Get().(*call)
	c.request, c.read, c.requestID = r, read, newRequestID()
	return c
}

func (c *call) release() {
	names := c.names[:cap(c.names)]
	if clear(names); len(names) > maxNames {
		names = nil
	}
	*c = call{names: names[:0]}
	calls.Put(c)
}

// newRequestID returns a random UUID with which users can refer to a request. The id is not a secret.
func newRequestID() string {
	var id uuid.UUID
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, RFC 9562
	return id.String()
}
