package credentials

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// Pages makes and reads the NextToken of one query. A token is opaque and authenticated, and is valid only for the
// query that it was made for: the operation, and everything in its input that selects results.
type Pages struct {
	key   []byte
	query []string
}

const pageMAC = 12 // bytes

// Pages returns the tokens of a query.
func (s *Secrets) Pages(operation string, selectors ...string) Pages {
	return Pages{key: s.pageKey, query: append([]string{operation}, selectors...)}
}

// Token returns the NextToken of the results after a position, which encoding/json can encode.
func (p Pages) Token(position any) string {
	body, err := json.Marshal(position)
	if err != nil {
		panic(err) // positions are plain structs of this service
	}
	return base64.RawURLEncoding.EncodeToString(append(p.sign(body), body...))
}

// Read decodes a NextToken. For "" the position stays as it is, which is the beginning.
func (p Pages) Read(token string, position any) error {
	if token == "" {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) < pageMAC || !hmac.Equal(data[:pageMAC], p.sign(data[pageMAC:])) ||
		json.Unmarshal(data[pageMAC:], position) != nil {
		return fault.New(fault.InvalidRequest, "NextToken is not one that this request was answered with. "+
			"Ask for the first page again, with the same parameters for each page.")
	}
	return nil
}

func (p Pages) sign(body []byte) []byte {
	return mac(p.key, append(p.query, string(body))...)[:pageMAC]
}
