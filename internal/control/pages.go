package control

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"

	"github.com/muster-gg/muster/internal/fault"
)

// defaultPage is how many results a page has when the caller does not say.
const defaultPage = 100

// pages makes and reads the NextToken of one query. A token is opaque and
// authenticated, and holds for the query it was made for: the operation, and
// everything in its input that selects results.
type pages struct {
	key   []byte
	query []string
}

const pageMAC = 12 // bytes

// pages returns the tokens of a query.
func (s *secrets) pages(operation string, selectors ...string) pages {
	return pages{key: s.pageKey, query: append([]string{operation}, selectors...)}
}

// token makes the NextToken that leads to the results behind a position.
func (p pages) token(position any) string {
	body, err := json.Marshal(position)
	if err != nil {
		panic(err) // positions are our own plain structs
	}
	return base64.RawURLEncoding.EncodeToString(append(p.sign(body), body...))
}

// read takes a NextToken apart; "" leaves the position as it is, which is the
// beginning.
func (p pages) read(token string, position any) error {
	if token == "" {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) < pageMAC || !hmac.Equal(data[:pageMAC], p.sign(data[pageMAC:])) || json.Unmarshal(data[pageMAC:], position) != nil {
		return fault.New(fault.InvalidRequest, "NextToken is not one that this request was answered with. Ask for the first page again, with the same parameters for each page.")
	}
	return nil
}

func (p pages) sign(body []byte) []byte {
	return mac(p.key, append(p.query, string(body))...)[:pageMAC]
}
