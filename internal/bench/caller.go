package bench

import (
	"context"
	"crypto/tls"

	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// A Caller makes signed calls over one HTTP connection, one after the other. It costs a tenth of a general client, so a
// test on the same machine can overload a service. It is not safe for concurrent use.
type Caller struct{ conn conn }

// NewCaller returns a caller of the API at a base URL, which connects with the first call. trust is the TLS
// configuration; nil trusts the system's CAs.
func NewCaller(baseURL string, trust *tls.Config, credentials sigv4.ClientCredentials) (*Caller, error) {
	e, err := parseEndpoint(baseURL, trust)
	if err != nil {
		return nil, err
	}
	return &Caller{conn{endpoint: e, signer: signer{credentials: credentials, host: e.host}}}, nil
}

// Call makes a call with a JSON body and returns the body of the answer, valid until the next call. The error is a
// *CallError for an exception of the service.
func (c *Caller) Call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	return c.conn.call(ctx, operation, body)
}

// Close closes the connection, if there is one.
func (c *Caller) Close() { c.conn.close() }
