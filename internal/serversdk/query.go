package serversdk

import (
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/processes"
)

// maxID is the maximum length of ids in a query, in bytes. Source: server SDK 5, validation of FleetId and HostId.
const maxID = 256

// A query holds the parameters of a connection URL, decoded.
type query map[string]string

// parseQuery reads a raw query in any SDK's dialect. The Go edition form-encodes every value ("+" is a space); the C++
// and C# editions insert ids and the token unencoded ("+" is itself, and "%" may start no escape). The first of equal
// keys counts.
func parseQuery(raw string) query {
	pairs := strings.Split(raw, "&")
	form := false
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		form = form || key == "sdkLanguage" && strings.EqualFold(value, "go")
	}
	q := make(query, len(pairs))
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if _, taken := q[key]; !taken {
			q[key] = decodeValue(value, form)
		}
	}
	return q
}

// decodeValue decodes percent-encoding. A value with an invalid escape was not encoded and is returned unchanged.
func decodeValue(value string, form bool) string {
	decode := url.PathUnescape
	if form {
		decode = url.QueryUnescape
	}
	if decoded, err := decode(value); err == nil {
		return decoded
	}
	return value
}

// connect converts the query.
func (q query) connect() processes.ConnectRequest {
	return processes.ConnectRequest{
		FleetID:          q["FleetId"],
		ComputeName:      q["ComputeId"],
		ProcessID:        q["pID"],
		SDKVersion:       q["sdkVersion"],
		SDKLanguage:      q["sdkLanguage"],
		IdempotencyToken: q["IdempotencyToken"],
		Authorization:    q["Authorization"],
		SigV4: processes.SigV4Query{
			Algorithm:     q["X-Amz-Algorithm"],
			Credential:    q["X-Amz-Credential"],
			Date:          q["X-Amz-Date"],
			SecurityToken: q["X-Amz-Security-Token"],
			Signature:     q["X-Amz-Signature"],
		},
	}
}
